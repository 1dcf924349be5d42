"""The anchors of a prompt: how strong each one is, and where they lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragcache.engine.trace import Trace
from ragcache.pipelines.explain.pieces import Piece

LEVELS = 5
_UNSCORED = 3
_BARS = 160


@dataclass(frozen=True)
class Mark:
    """A piece with anchor tokens, `number` counting from 1 in prompt order.

    `positions` are its anchors. `score` is the criterion's for the strongest of them, `rank` 1 the
    highest of all, `share` its part of all scores, 0..1: None where nothing was scored, or where a
    share has no meaning. `level` is 1 (weak) to `LEVELS` (strong), for the eye.
    """

    number: int
    text: str
    positions: tuple[int, ...]
    score: float | None
    share: float | None
    rank: int | None
    level: int


@dataclass(frozen=True)
class Bar:
    """A stretch of the prompt: its highest score, 0..1 of the prompt's highest, and its strongest anchor.

    `level` is 0 where no token of the stretch is an anchor.
    """

    height: float
    level: int


def marks(pieces: Iterable[Piece], trace: Trace) -> dict[int, Mark]:
    """The marks by the start of their piece."""
    anchors = set(trace.anchors)
    marked = [
        (piece, hit) for piece in pieces if (hit := anchors.intersection(range(piece.start, piece.stop)))
    ]
    scores = [max((trace.scores[at] for at in hit if at in trace.scores), default=None) for _, hit in marked]
    known = sorted((score for score in scores if score is not None), reverse=True)
    low, high = (known[-1], known[0]) if known else (0.0, 0.0)
    ranks = {
        score: rank for rank, score in reversed([*enumerate(known, start=1)])
    }  # equal ones share the best
    total = sum(trace.scores.values())
    shares = total > 0 and min(trace.scores.values()) >= 0
    return {
        piece.start: Mark(
            number=number,
            text=piece.text,
            positions=tuple(sorted(hit)),
            score=score,
            share=score / total if shares and score is not None else None,
            rank=None if score is None else ranks[score],
            level=_UNSCORED if score is None else _level(score, low, high),
        )
        for number, ((piece, hit), score) in enumerate(zip(marked, scores, strict=True), start=1)
    }


def _level(score: float, low: float, high: float) -> int:
    # A few tokens draw most of the attention: the root keeps the others apart.
    place = math.sqrt((score - low) / (high - low)) if high > low else 1.0
    return min(LEVELS, 1 + int(place * LEVELS))


def bars(trace: Trace, found: Iterable[Mark]) -> tuple[Bar, ...]:
    """The prompt from left to right in at most 160 stretches."""
    levels = {position: mark.level for mark in found for position in mark.positions}
    low = min([0.0, *trace.scores.values()])
    span = max([0.0, *trace.scores.values()]) - low
    count = min(_BARS, trace.prompt_tokens)
    edges = [trace.prompt_tokens * i // count for i in range(count + 1)] if count else []
    return tuple(_bar(range(*pair), trace, levels, low, span) for pair in pairwise(edges))


def _bar(stretch: Sequence[int], trace: Trace, levels: dict[int, int], low: float, span: float) -> Bar:
    level = max((levels.get(at, 0) for at in stretch), default=0)
    scored = [trace.scores[at] for at in stretch if at in trace.scores]
    if not scored or not span:
        return Bar(1.0 if level else 0.0, level)
    return Bar((max(scored) - low) / span, level)
