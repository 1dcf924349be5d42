"""What is masked of a conversation: answers mostly, documents and questions at times."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from training.pointers import Targets

DOCUMENTS_MASKED = 0.15  # share of conversations in which tokens outside the answers are masked too
PADDING_WEIGHT = 0.1
FULL_SHARE, TAIL_SHARE = 0.5, 0.28  # of the answers; the rest is masked at random


@dataclass(frozen=True)
class Sequence:
    """One conversation: all token ids, per answer the slice that is the canvas, where heads are to look.

    `affixes` are the positions of each document and of the system prompt; `branches` the slices that do not
    see one another and whose positions all begin where the first one does.
    """

    ids: list[int]
    canvases: list[tuple[int, int]]
    targets: Targets
    affixes: list[list[int]] = field(default_factory=list)
    branches: list[tuple[int, int]] = field(default_factory=list)

    @cached_property
    def answered(self) -> set[int]:
        """Every position of a canvas."""
        return {i for start, stop in self.canvases for i in range(start, stop)}

    def looks(self) -> Iterator[tuple[str, int, list[int]]]:
        """Taught head, position, and where it is to look."""
        for name, own in self.targets.items():
            for position, sources in own.items():
                yield name, position, sources


@dataclass(frozen=True)
class Masked:
    """A masked token: its index, its weight in the loss, the number of its answer if that is fully masked."""

    index: int
    weight: float
    answer: int | None = None


# Share of conversations whose affixes do not see the rest, and how many of their tokens see it all the same.
REUSED_SHARE, ANCHORS = 0.6, (0.0, 0.1, 0.2, 0.2, 0.5)


class Masker:
    """Draws masks; `eot` is the token that ends an answer."""

    def __init__(self, rng: random.Random, eot: int) -> None:
        self.rng, self.eot = rng, eot

    def masked(self, sequence: Sequence, *, everywhere: bool) -> list[Masked]:
        """Of one conversation: answers, and with `everywhere` at times some of all other tokens."""
        masked: list[Masked] = []
        for number, (start, stop) in enumerate(sequence.canvases):
            end = sequence.ids.index(self.eot, start)
            flags = self._answer(stop - start, end + 1 - start)
            for index, flag in zip(range(start, stop), flags, strict=True):
                if flag and index <= end:
                    masked.append(Masked(index, 1.0, number if all(flags) else None))
                elif flag:
                    masked.append(Masked(index, PADDING_WEIGHT))
        if everywhere and self.rng.random() < DOCUMENTS_MASKED:
            inside, rate = sequence.answered, self.rng.uniform(0.05, 0.3)
            others = (i for i in range(1, len(sequence.ids)) if i not in inside)
            masked += [Masked(i, 0.5) for i in others if self.rng.random() < rate]
        return masked

    def stale(self, sequence: Sequence) -> list[int]:
        """Positions of the tokens that see their own affix only, as pages do."""
        if self.rng.random() >= REUSED_SHARE:
            return []
        anchors = self.rng.choice(ANCHORS)
        return [p for span in sequence.affixes for p in span if self.rng.random() >= anchors]

    def _answer(self, canvas: int, told: int) -> list[bool]:
        """Flags of a canvas whose first `told` tokens are the answer and its end: all, a tail, or any."""
        kind = self.rng.random()
        if kind < FULL_SHARE:
            return [True] * canvas
        if kind < FULL_SHARE + TAIL_SHARE:
            kept = self.rng.randrange(told)
            return [index >= kept for index in range(canvas)]
        rate = self.rng.uniform(0.2, 1.0)
        return [self.rng.random() < rate for _ in range(canvas)]
