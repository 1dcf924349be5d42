"""Conversations -> batches with masks: what one training step reads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor

from training.conversation import ChatFormat, Conversation
from training.masking import Masker, Sequence
from training.pointers import POINTERS, to_tensors
from training.stories import Stage, StoryTeller

SPARE = (0, 0, 1, 2, 4)  # end tokens after an answer that others follow


@dataclass(frozen=True)
class Batch:
    """`token_ids` `[rows, tokens]` masked; `picked` `[m]` flat indices with `targets`, `weights`, `answer`.

    `affixes` numbers the affix of each token (-1: none); `stale` ones see no other. The tokens of a branch
    (0: none) are seen by that branch alone. `answer` numbers the fully masked answers (-1: none), to measure
    one-step exact match. `pointers` holds, per taught head, flat indices `[p]` of rows and the positions
    `[p, SOURCES]` in their sequence that they are to look at (-1: none).
    """

    token_ids: Tensor
    positions: Tensor
    valid: Tensor
    affixes: Tensor
    stale: Tensor
    branches: Tensor
    picked: Tensor
    targets: Tensor
    weights: Tensor
    answer: Tensor
    pointers: dict[str, tuple[Tensor, Tensor]]


class SequenceMaker:
    """Renders stories as conversations with several questions: one reading of the documents, many answers."""

    def __init__(self, tokenizer: Tokenizer, seed: int) -> None:
        self.rng = random.Random(seed)
        self.chat, self.teller = ChatFormat(tokenizer), StoryTeller(tokenizer, self.rng)
        self.eos, self.mask = self.chat.eos, self.chat.mask
        self.masker = Masker(self.rng, self.chat.eot)

    def sequence(self, stage: Stage) -> Sequence | None:
        """One conversation, or None when it does not fit the stage's length."""
        made, layout = self.teller.story(stage), self.teller.layout(stage)
        talk = Conversation(self.chat, made, stage.tokens, branched=stage.branched)
        if self.rng.random() < stage.system_share:
            talk.system(self.teller.system())
        for qa in made.questions:
            text = f"Question: {qa.question}"
            if talk.asks_whole:
                text = self.teller.prompt(made, qa.question, layout)
            room = talk.ask(qa, text)
            if not room:
                break
            if stage.branched or qa is made.questions[-1]:
                talk.answer(qa.answer, room, canvas=self.rng.choice(stage.canvases))
            else:
                talk.answer(qa.answer, room, spare=self.rng.choice(SPARE))
        return talk.written()

    def batches(self, stage: Stage) -> Iterator[Batch]:
        """Endless batches of fixed shape."""
        while True:
            sequences: list[Sequence] = []
            while len(sequences) < stage.rows:
                made = self.sequence(stage)
                if made is not None:
                    sequences.append(made)
            yield self.collate(sequences, stage)

    def collate(self, sequences: list[Sequence], stage: Stage) -> Batch:
        """Mask and pad."""
        rows, tokens = len(sequences), stage.tokens
        token_ids = torch.full((rows, tokens), self.eos)
        valid = torch.zeros(rows, tokens, dtype=torch.bool)
        affixes = torch.full((rows, tokens), -1)
        stale = torch.zeros(rows, tokens, dtype=torch.bool)
        branches = torch.zeros(rows, tokens, dtype=torch.int64)
        positions = torch.arange(tokens).repeat(rows, 1)
        picked: list[tuple[int, int, float, int]] = []
        looking: dict[str, tuple[list[int], list[list[int]]]] = {name: ([], []) for name in POINTERS}
        answers = 0
        for row, sequence in enumerate(sequences):
            ids, masked = list(sequence.ids), self.masker.masked(sequence, everywhere=not stage.plain)
            if self.rng.random() < 0.5:
                positions[row] += self.rng.randrange(2048 - tokens)
            for one in masked:
                number = -1 if one.answer is None else answers + one.answer
                picked.append((row * tokens + one.index, ids[one.index], one.weight, number))
                ids[one.index] = self.mask
            answers += len(sequence.canvases)
            for name, position, sources in sequence.looks():
                if position not in sequence.answered or ids[position] == self.mask:
                    looking[name][0].append(row * tokens + position)
                    looking[name][1].append(sources)
            token_ids[row, : len(ids)] = torch.tensor(ids)
            valid[row, : len(ids)] = True
            for number, span in enumerate(sequence.affixes):
                affixes[row, span] = number
            for number, (start, stop) in enumerate(sequence.branches):
                branches[row, start:stop] = number + 1
                positions[row, start:stop] -= start - sequence.branches[0][0]
            stale[row, self.masker.stale(sequence)] = True
        picked += [(0, 0, 0.0, -1)] * (
            -len(picked) % 512
        )  # few different shapes: the allocator keeps its memory
        index, target, weight, answer = (torch.tensor(column) for column in zip(*picked, strict=True))
        pointers = {name: to_tensors(*found) for name, found in looking.items()}
        return Batch(
            token_ids, positions, valid, affixes, stale, branches, index, target, weight, answer, pointers
        )
