"""Stories -> token sequences with masks: what one training step reads."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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
DOCUMENTS_FIRST = (0, 1, 2, 4)  # of the layouts
PARAGRAPHS = 0.3  # share of documents with blank lines inside, as pages written by people have
BREAK = re.compile(r"(?<=[a-z0-9]\.) (?=[A-Z])")
LAYOUT_WEIGHTS = (8, 1, 1, 1, 1, 1)


@dataclass(frozen=True)
class Stage:
    """One step of the curriculum: how long, how many, how hard. Ranges are inclusive.

    `canvases` are the lengths of the last canvas; `plain` leaves out other layouts and masks in documents;
    `linked` is the share of stories whose answers need several documents (chains, pronouns, comparisons).
    With `branched`, the questions do not see one another: many prompts of one question, read at once.
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
    branched: bool = False


@dataclass(frozen=True)
class Batch:
    """`token_ids` `[rows, tokens]` masked; `picked` `[m]` flat indices with `targets`, `weights`, `answer`.

    `affixes` numbers the affix of each token (-1: none); `stale` ones see no other. Tokens of a branch (0:
    none) are seen by their branch alone. `answer` numbers the fully masked answers (-1: none), to measure one-step exact match. `pointers` holds, per taught head, flat
    indices `[p]` of rows and the positions `[p, SOURCES]` in their sequence that they are to look at (-1:
    none).
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

    def _story(self, stage: Stage) -> Story:
        """Documents and questions, at times with made-up words and with paragraphs."""
        split = Split(names="train", templates="train")
        if self.rng.random() < stage.linked:
            kind = self.rng.choice(LINKED_KINDS)
            made = linked_story(self.rng, split, kind, questions=stage.questions, hops=HOPS)
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
        return made if stage.plain else replace(made, docs=tuple(self._paragraphs(doc) for doc in made.docs))

    def _paragraphs(self, doc: str) -> str:
        if self.rng.random() >= PARAGRAPHS:
            return doc
        titled = doc.replace("\n", "\n\n", 1) if self.rng.random() < 0.5 else doc
        return BREAK.sub(lambda _: self.rng.choice(("\n\n", " ", " ")), titled)

    def _layout(self, stage: Stage) -> str:
        if stage.plain:
            return LAYOUTS[0]
        known = DOCUMENTS_FIRST if stage.branched else range(len(LAYOUTS))
        return LAYOUTS[self.rng.choices(known, [LAYOUT_WEIGHTS[at] for at in known])[0]]

    def _user(self, made: Story, question: str, layout: str) -> str:
        docs = list(made.docs)
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
        made, layout = self._story(stage), self._layout(stage)
        ids, system = [self.bos], None
        if self.rng.random() < stage.system_share:
            system = self._turn(ids, "system", self.rng.choices(SYSTEM_PROMPTS, (5, 1, 1, 1))[0])
        affixes = [] if system is None else [system.tokens(1, len(system.text) - 1)]
        canvases: list[tuple[int, int]] = []
        branches: list[tuple[int, int]] = []
        pointers, documents, head, shared = Pointers(), None, list(ids), 0
        for number, qa in enumerate(made.questions):
            whole = documents is None or stage.branched
            text = self._user(made, qa.question, layout) if whole else f"Question: {qa.question}"
            asked = list(head if shared else ids)
            turn = self._turn(asked, "user", text)
            asked += [self.start_header, *self._encode("assistant"), self.end_header]
            start, content = len(ids), self._encode(" " + qa.answer)
            if shared:
                asked = ids + asked[shared:]
                turn = replace(turn, start=turn.start + start - shared, first=start)
            room = stage.tokens - len(asked)
            if room < len(content) + 1:
                break
            ids = asked
            if documents is None:
                documents = turn
                pointers.told(documents, made)
                affixes += [documents.tokens(documents.text.find(doc), len(doc)) for doc in made.docs]
                if stage.branched:
                    start = shared = affixes[-1][-1] + 1
            pointers.asked(range(len(ids), len(ids) + len(content)), qa, turn, documents, content)
            last = stage.branched or number == len(made.questions) - 1
            answer = self._answer(content, last, room, stage.canvases)
            canvases.append((len(ids), len(ids) + len(answer)))
            ids += answer
            if stage.branched:
                branches.append((start, len(ids)))
        return Sequence(ids, canvases, pointers.targets, affixes, branches) if canvases else None

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
            stale[row, [position for position, _ in self.masker.stale(sequence)]] = True
        picked += [(0, 0, 0.0, -1)] * (
            -len(picked) % 512
        )  # few different shapes: the allocator keeps its memory
        index, target, weight, answer = (torch.tensor(column) for column in zip(*picked, strict=True))
        pointers = {name: to_tensors(*found) for name, found in looking.items()}
        return Batch(
            token_ids, positions, valid, affixes, stale, branches, index, target, weight, answer, pointers
        )
