"""Watching the work of one request: seconds, forwards and rows by kind of step."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.step import Step, StepKind, Work, advance
from ragcache.engine.trace import StepTrace

T = TypeVar("T")


class Clock:
    """Seconds, forwards and rows (through all `layers`) by kind of step; every step, when there is a canvas.

    `first_rows` is the cost of the first refresh in rows, `first_logits` its logits, if they are to be kept.
    `forward_s` says how many seconds of the last forward were this request's; None: all from step to logits,
    for a request that is computed alone.
    """

    def __init__(
        self,
        layers: int,
        canvas: Canvas | None = None,
        *,
        keep_logits: bool = False,
        forward_s: Callable[[], float] | None = None,
    ) -> None:
        self.layers, self.canvas, self.keep_logits = layers, canvas, keep_logits
        self._forward_s = forward_s
        self.seconds: dict[StepKind, float] = {}
        self.forwards: Counter[StepKind] = Counter()
        self.rows: dict[StepKind, float] = {}
        self.steps: list[StepTrace] = []
        self.first_logits: Tensor | None = None
        self.first_rows = 0.0
        self._started = time.perf_counter()

    def time(self, work: Work[T]) -> Work[T]:
        """The same work, its steps timed."""
        logits: Tensor | None = None
        before: Tensor | None = None
        while True:
            try:
                step = advance(work, logits)
            except StopIteration as end:
                self._note_committed(before)
                result: T = end.value
                return result
            self._note_committed(before)
            before = self.canvas.token_ids.clone() if self.canvas else None
            started = time.perf_counter()
            logits = yield step
            self._count(step, logits, started)

    def _count(self, step: Step, logits: Tensor, started: float) -> None:
        seconds = self._forward_s() if self._forward_s is not None else time.perf_counter() - started
        rows = step.cost(self.layers)
        self.seconds[step.kind] = self.seconds.get(step.kind, 0.0) + seconds
        self.rows[step.kind] = self.rows.get(step.kind, 0.0) + rows
        if step.kind == "refresh" and not self.forwards["refresh"]:
            self.first_rows = rows
            if self.keep_logits:  # a copy: these are a part of the whole batch's
                self.first_logits = logits.clone()
        self.forwards[step.kind] += 1
        if self.canvas is not None:
            at = started - self._started
            self.steps.append(StepTrace(step.kind, len(step.positions), at, seconds))

    def _note_committed(self, before: Tensor | None) -> None:
        """What the last step decided is known once the work asks for the next."""
        if self.canvas is None or before is None:
            return
        changed = torch.nonzero(self.canvas.token_ids != before).squeeze(-1)
        last = self.steps[-1]
        self.steps[-1] = StepTrace(
            last.kind, last.rows, last.started_s, last.seconds, tuple(changed.tolist())
        )
