"""What one request did, step by step: for `ragcache explain` and for reports of faults."""

from __future__ import annotations

from dataclasses import dataclass

from ragcache.decoding.step import StepKind


@dataclass(frozen=True)
class StepTrace:
    """One forward: `rows` computed, `committed` absolute positions decided by it.

    `started_s` is when the step was ready, in wall seconds from the request's first; `seconds` are its own of
    the forward (see `Timings`).
    """

    kind: StepKind
    rows: int
    started_s: float
    seconds: float
    committed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Trace:
    """Prompt and canvas as decoded, the anchors, and why they were chosen.

    `token_ids` holds prompt and answer; `anchors` are sorted absolute positions; `scores` gives the
    criterion's score of every affix position it judged (none when nothing was scored).
    """

    token_ids: tuple[int, ...]
    prompt_tokens: int
    anchors: tuple[int, ...]
    scores: dict[int, float]
    steps: tuple[StepTrace, ...]
