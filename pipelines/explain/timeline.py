"""The steps of a request, and how its answer filled up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from ragcache.decoding.step import StepKind
from ragcache.engine.trace import StepTrace, Trace
from ragcache.pipelines.explain.pieces import Piece, Vocabulary, cut

State = Literal["new", "old", "mask"]


@dataclass(frozen=True)
class Cell:
    """Neighbouring tokens of the canvas in one state: committed by this step, before it, or not yet.

    `text` is empty for masks, and one token's for a run of the same special token. `beyond` says that
    the answer ended before.
    """

    text: str
    tokens: int
    state: State
    special: bool = False
    beyond: bool = False


@dataclass(frozen=True)
class StepView:
    """A forward: `rows` computed, its time as parts (0..1) of all steps' time, and the block after it."""

    number: int
    kind: StepKind
    rows: int
    seconds: float
    begins: float
    lasts: float
    committed: int
    cells: tuple[Cell, ...]


def timeline(trace: Trace, answer_tokens: int, vocabulary: Vocabulary) -> tuple[StepView, ...]:
    """The steps in order; `answer_tokens` of the canvas are the answer. A full forward only compares."""
    steps = [step for step in trace.steps if step.kind != "full"]
    canvas = cut(trace.token_ids[trace.prompt_tokens :], vocabulary, trace.prompt_tokens)
    end = trace.prompt_tokens + answer_tokens
    origin_s = min((step.started_s for step in steps), default=0.0)
    total_s = max((step.started_s + step.seconds for step in steps), default=0.0) - origin_s or 1.0
    views: list[StepView] = []
    for block in _blocks(steps):
        for step, cells in zip(block, _fill(block, canvas, end), strict=True):
            views.append(
                StepView(
                    number=len(views) + 1,
                    kind=step.kind,
                    rows=step.rows,
                    seconds=step.seconds,
                    begins=(step.started_s - origin_s) / total_s,
                    lasts=step.seconds / total_s,
                    committed=len(step.committed),
                    cells=cells,
                )
            )
    return tuple(views)


def _blocks(steps: Iterable[StepTrace]) -> Iterator[list[StepTrace]]:
    """The steps before the first refresh, then those of each block: a refresh begins it."""
    block: list[StepTrace] = []
    for step in steps:
        if step.kind == "refresh" and block:
            yield block
            block = []
        block.append(step)
    if block:
        yield block


def _fill(block: Sequence[StepTrace], canvas: Sequence[Piece], end: int) -> Iterator[tuple[Cell, ...]]:
    decided = {position for step in block for position in step.committed}
    pieces = [piece for piece in canvas if not decided.isdisjoint(range(piece.start, piece.stop))]
    missing = set(decided)
    for step in block:
        missing -= set(step.committed)
        states = [(piece, _state(piece, missing, set(step.committed))) for piece in pieces]
        yield tuple(_cells(states, end)) if step.committed else ()


def _state(piece: Piece, missing: set[int], committed: set[int]) -> State:
    tokens = range(piece.start, piece.stop)
    if not missing.isdisjoint(tokens):
        return "mask"
    return "old" if committed.isdisjoint(tokens) else "new"


def _cells(states: Iterable[tuple[Piece, State]], end: int) -> Iterator[Cell]:
    def kind(entry: tuple[Piece, State]) -> tuple[State, str, bool]:
        piece, state = entry
        masked = state == "mask"
        return state, piece.text if piece.special and not masked else "", piece.start >= end and not masked

    for (state, special, beyond), entries in groupby(states, kind):
        pieces = [piece for piece, _ in entries]
        tokens = sum(piece.stop - piece.start for piece in pieces)
        text = special or "".join(piece.text for piece in pieces if state != "mask")
        yield Cell(text, tokens, state, bool(special), beyond)
