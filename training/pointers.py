"""Where taught heads are to look: the source of an answer, the subject of a value, the bridge of two hops.

The generators know which name each value belongs to and where it stands. A small model finds these
dependencies very slowly from the loss on answers alone, so some heads are taught them directly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from tokenizers import Encoding
from torch import Tensor

from ragcache.evaluation.generators import QA, Story

# Taught head -> (layer, head). Subjects first, so that keys of later layers know whose value they are.
POINTERS = {"subject": (3, 1), "bridge": (5, 0), "answer": (6, 0)}
SOURCES = 16  # positions a row may look at

Targets = dict[str, dict[int, list[int]]]


@dataclass(frozen=True)
class Turn:
    """Token ids of a piece of text from position `start` on, and where its characters are.

    Positions outside `first:stop` are left out: those tokens are another turn's.
    """

    start: int
    encoding: Encoding
    text: str
    first: int = 0
    stop: int = sys.maxsize

    def tokens(self, at: int, length: int) -> list[int]:
        """Positions of the tokens that overlap `length` characters from `at` on."""
        end = at + length
        found = (self.start + i for i, (a, b) in enumerate(self.encoding.offsets) if a < end and b > at)
        return [position for position in found if self.first <= position < self.stop]

    def find(self, piece: str, begin: int = 0, end: int | None = None) -> list[list[int]]:
        """Positions of the tokens of every occurrence of `piece` among the characters `begin:end`."""
        found, at = [], self.text.find(piece, begin, end) if piece else -1
        while at >= 0:
            found.append(self.tokens(at, len(piece)))
            at = self.text.find(piece, at + 1, end)
        return found


@dataclass
class Pointers:
    """Collects, per taught head, which position looks at which ones."""

    targets: Targets = field(default_factory=lambda: {name: {} for name in POINTERS})

    def add(self, name: str, rows: Iterable[int], sources: list[int]) -> None:
        """`rows` look at `sources`."""
        if sources:
            self.targets[name].update(dict.fromkeys(rows, sources[:SOURCES]))

    def told(self, turn: Turn, made: Story) -> None:
        """Values in the documents look at the name they belong to."""
        for told in made.told:
            begin = turn.text.find(made.docs[told.doc])
            end = begin + len(made.docs[told.doc])
            values = turn.find(told.value, begin, end)
            names = [p for found in turn.find(told.subject, begin, end) for p in found]
            if begin >= 0 and len(values) == 1:
                self.add("subject", values[0], names)

    def asked(self, canvas: range, qa: QA, question: Turn, documents: Turn, answer: list[int]) -> None:
        """An answer of token ids `answer` looks at its source, its question's name, and the bridge."""
        subjects = question.find(qa.subject)
        self.add("subject", canvas, subjects[-1] if subjects else [])
        bridges = [p for found in documents.find(qa.bridge) for p in found]
        self.add("bridge", canvas, bridges)
        if qa.kind == "not_stated":
            self.add("answer", canvas, [0])
            return
        ids, size = documents.encoding.ids, len(answer)
        found = [documents.start + i for i in range(len(ids) - size + 1) if ids[i : i + size] == answer]
        found = [start for start in found if start < documents.stop]
        for index, row in enumerate(canvas):
            self.add("answer", [row], [start + index for start in found])


def to_tensors(rows: list[int], sources: list[list[int]]) -> tuple[Tensor, Tensor]:
    """`[p]` and `[p, SOURCES]` (-1: none), p padded to a multiple of 512: few different shapes."""
    spare = -len(rows) % 512
    padded = [own + [-1] * (SOURCES - len(own)) for own in sources] + [[-1] * SOURCES] * spare
    wide = torch.tensor(padded, dtype=torch.int64).reshape(-1, SOURCES)
    return torch.tensor(rows + [0] * spare, dtype=torch.int64), wide
