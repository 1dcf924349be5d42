"""Stories -> token sequences with masks: what one training step reads."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor

from ragcache.evaluation.generators import LINKED_KINDS, Split, Story, linked_story, story
from training.masking import Masker, Sequence
from training.pointers import POINTERS, Pointers, Turn, to_tensors
from training.substitute import Substituter

SYSTEM_PROMPTS = (
    'Answer from the documents only, in as few words as possible. Say "not stated" if they do not tell.',
    "You answer questions about the documents. If the documents do not say it, answer: not stated.",
    "Read the documents and give a short answer.",
    "You are a careful assistant for the staff handbook. Quote the documents, do not guess.",
)
LAYOUTS = (
    "{docs}\n\nQuestion: {question}",
    "{docs}\n\n{question}",
    "Context:\n{docs}\n\nQuestion: {question}\nAnswer:",
    "Question: {question}\n\n{docs}",
    "Documents:\n\n{docs}\n\nAnswer this question: {question}",
    "{first}\n\nQuestion: {question}\n\n{rest}",
)
SUBSTITUTED = 0.75
HOPS = (1, 4)
LAYOUT_WEIGHTS = (8, 1, 1, 1, 1, 1)


@dataclass(frozen=True)
class Stage:
    """One step of the curriculum: how long, how many, how hard. Ranges are inclusive.

    `canvases` are the lengths of the last canvas; `plain` leaves out other layouts and masks in documents;
    `linked` is the share of stories whose answers need several documents (chains, pronouns, comparisons).
    """

    tokens: int
    rows: int
    docs: tuple[int, int]
    facts: tuple[int, int]
    questions: int
    kinds: Mapping[str, float]
    system_share: float = 0.75
    canvases: tuple[int, ...] = (8, 16, 16, 32)
    plain: bool = False
    linked: float = 0.0


@dataclass(frozen=True)
class Batch:
    """`token_ids` `[rows, tokens]` masked; `picked` `[m]` flat indices with `targets`, `weights`, `answer`.

    `affixes` numbers the affix of each token (-1: none); `stale` ones see no other. `answer` numbers the
    fully masked answers (-1: none), to measure one-step exact match. `pointers` holds, per taught head, flat
    indices `[p]` of rows and the positions `[p, SOURCES]` in their sequence that they are to look at (-1:
    none).
    """

    token_ids: Tensor
    positions: Tensor
    valid: Tensor
    affixes: Tensor
    stale: Tensor
    picked: Tensor
    targets: Tensor
    weights: Tensor
    answer: Tensor
    pointers: dict[str, tuple[Tensor, Tensor]]


class SequenceMaker:
    """Renders stories as conversations with several questions: one reading of the documents, many answers."""

    def __init__(self, tokenizer: Tokenizer, seed: int) -> None:
        self.tokenizer = tokenizer
        self.rng = random.Random(seed)
        self.substituter = Substituter(tokenizer, self.rng)
        ids = tokenizer.get_vocab()
        self.eos, self.mask = ids["<|endoftext|>"], ids["<|mdm_mask|>"]
        self.bos, self.eot = ids["<|startoftext|>"], ids["<|eot_id|>"]
        self.masker = Masker(self.rng, self.eot)
        self.start_header, self.end_header = ids["<|start_header_id|>"], ids["<|end_header_id|>"]

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def _turn(self, ids: list[int], role: str, text: str) -> Turn:
        """Append a turn to `ids`."""
        ids += [self.start_header, *self._encode(role), self.end_header]
        turn = Turn(len(ids), self.tokenizer.encode("\n" + text, add_special_tokens=False), "\n" + text)
        ids += [*turn.encoding.ids, self.eot]
        return turn

    def _user(self, made: Story, question: str, plain: bool) -> str:
        docs = list(made.docs)
        layout = LAYOUTS[0] if plain else self.rng.choices(LAYOUTS, LAYOUT_WEIGHTS)[0]
        cut = self.rng.randrange(1, len(docs)) if len(docs) > 1 else 1
        return layout.format(
            docs="\n\n".join(docs),
            first="\n\n".join(docs[:cut]),
            rest="\n\n".join(docs[cut:]) or "End of documents.",
            question=question,
        )

    def _answer(self, content: list[int], last: bool, room: int, canvases: tuple[int, ...]) -> list[int]:
        ids = [*content, self.eot]
        canvas = len(ids) + self.rng.choice((0, 0, 1, 2, 4))
        if last:
            canvas = max(len(ids), self.rng.choice(canvases))
        return [*ids, *[self.eos] * (min(canvas, room) - len(ids))]

    def sequence(self, stage: Stage) -> Sequence | None:
        """One conversation, or None when it does not fit the stage's length."""
        split = Split(names="train", templates="train")
        if self.rng.random() < stage.linked:
            made = linked_story(
                self.rng, split, self.rng.choice(LINKED_KINDS), questions=stage.questions, hops=HOPS
            )
        else:
            made = story(
                self.rng,
                split,
                docs=stage.docs,
                facts=stage.facts,
                questions=stage.questions,
                kinds=stage.kinds,
            )
        if self.rng.random() < SUBSTITUTED:
            made = self.substituter.apply(made)
        ids, system = [self.bos], None
        if self.rng.random() < stage.system_share:
            system = self._turn(ids, "system", self.rng.choices(SYSTEM_PROMPTS, (5, 1, 1, 1))[0])
        canvases: list[tuple[int, int]] = []
        affixes = [] if system is None else [system.tokens(1, len(system.text) - 1)]
        pointers, documents = Pointers(), None
        for number, qa in enumerate(made.questions):
            text = self._user(made, qa.question, stage.plain) if number == 0 else f"Question: {qa.question}"
            turned = list(ids)
            turn = self._turn(turned, "user", text)
            turned += [self.start_header, *self._encode("assistant"), self.end_header]
            content = self._encode(" " + qa.answer)
            room = stage.tokens - len(turned)
            if room < len(content) + 1:
                break
            ids = turned
            if documents is None:
                documents = turn
                pointers.told(documents, made)
                affixes += [documents.tokens(documents.text.find(doc), len(doc)) for doc in made.docs]
            pointers.asked(range(len(ids), len(ids) + len(content)), qa, turn, documents, content)
            answer = self._answer(content, number == len(made.questions) - 1, room, stage.canvases)
            canvases.append((len(ids), len(ids) + len(answer)))
            ids += answer
        return Sequence(ids, canvases, pointers.targets, affixes) if canvases else None

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
            stale[row, [position for position, _ in self.masker.stale(sequence)]] = True
        picked += [(0, 0, 0.0, -1)] * (
            -len(picked) % 512
        )  # few different shapes: the allocator keeps its memory
        index, target, weight, answer = (torch.tensor(column) for column in zip(*picked, strict=True))
        pointers = {name: to_tensors(*found) for name, found in looking.items()}
        return Batch(token_ids, positions, valid, affixes, stale, index, target, weight, answer, pointers)
