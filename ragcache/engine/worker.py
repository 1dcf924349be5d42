"""The thread that owns the model: between its forwards requests join and leave, and calls are served."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from ragcache.decoding.step import Predictor, Step, forward
from ragcache.engine.costs import RowCost, shares_s
from ragcache.engine.isolation import isolate
from ragcache.engine.job import Job
from ragcache.engine.kv_pool import Grant
from ragcache.engine.scheduler import Scheduler
from ragcache.engine.waiting import WaitingQueue
from ragcache.errors import WorkerDiedError

log = logging.getLogger(__name__)
LINGER_S = 0.1
# Called after every forward with its steps and the seconds it took.
OnForward: TypeAlias = Callable[[Sequence[Step], float], None]


class Worker(threading.Thread):
    """Starts what waits, in its order, while `max_batch` and memory allow, and runs all steps to their end.

    `reserve` gives the memory of a request, or None while it must wait, and with it whatever is urgent less;
    `begin` readies its first step. What they raise fails that request. `on_forward` looks on. Between two
    forwards one of the calls that wait is served. The thread ends when nothing was to do for `LINGER_S`, or
    when the queue was closed and all is done: while it lives, its pool slows others down (`threads`). Should
    it end otherwise, every request and call fails with `WorkerDiedError`. Either way it leaves the queue, and
    another may take its place.
    """

    def __init__(
        self,
        predictor: Predictor,
        waiting: WaitingQueue,
        scheduler: Scheduler,
        max_batch: int,
        reserve: Callable[[Job], Grant | None],
        begin: Callable[[Job, Grant], None],
        row_cost: RowCost,
        on_forward: OnForward = lambda steps, seconds: None,
    ) -> None:
        super().__init__(name="ragcache-engine", daemon=True)
        self._predictor, self._waiting, self._scheduler = predictor, waiting, scheduler
        self._max_batch, self._reserve, self._begin = max_batch, reserve, begin
        self._row_cost, self._on_forward = row_cost, on_forward
        self._active: list[Job] = []

    def run(self) -> None:
        """See `threading.Thread`."""
        try:
            while self._admit() or self._active:
                self._serve_call()
                self._step()
        except BaseException as error:  # whatever it is, nobody may wait for an answer that never comes
            log.exception("the engine's thread died")
            self._fail_all(error)

    def _admit(self) -> bool:
        """Start what may start; waits while nothing is to do. False if that is for good, and it may end."""
        if not self._active and not self._waiting.stay(LINGER_S):
            return False
        for late in self._waiting.take_late():
            late.drop_if_late()
        while len(self._active) < self._max_batch:
            job = self._waiting.head()
            if job is None or not self._start_one(job):
                break
        return True

    def _start_one(self, job: Job) -> bool:
        """False if `job` has to wait for memory. It is settled only by who takes it out of the queue."""
        try:
            grant = self._reserve(job)
        except Exception as error:
            if self._waiting.remove(job):
                job.fail(error)
            return True
        if grant is None:
            return False
        if self._waiting.remove(job):
            job.held.callback(grant.release)
            self._active.append(job)
            self._first_step(job, grant)
        else:  # cancelled meanwhile, or the engine was closed
            grant.release()
        return True

    def _first_step(self, job: Job, grant: Grant) -> None:
        try:
            job.begun = True
            self._begin(job, grant)
        except Exception as error:
            job.fail(error)
        else:
            job.advance(None)
        self._forget_settled()

    def _serve_call(self) -> None:
        """One, however many wait: requests go on."""
        call = self._waiting.next_call()
        if call is not None:
            call.run()

    def _step(self) -> None:
        """One forward for those whom the scheduler picks."""
        for job in self._active:
            if not job.drop_if_cancelled():
                job.drop_if_late()
        self._forget_settled()
        chosen = self._scheduler.pick(self._active)
        for job, outcome in zip(chosen, isolate(chosen, self._forward), strict=True):
            if isinstance(outcome, Exception):
                job.fail(outcome)
            else:
                job.advance(outcome)
        self._forget_settled()

    def _forward(self, jobs: Sequence[Job]) -> list[Tensor]:
        steps = [job.step for job in jobs if job.step is not None]
        started = time.perf_counter()
        logits = forward(self._predictor, steps)
        if logits[0].is_cuda:  # until now it was only launched; the current device may be another
            torch.cuda.synchronize(logits[0].device)
        seconds, layers = time.perf_counter() - started, self._predictor.config.layers
        self._row_cost.add(sum(step.cost(layers) for step in steps), seconds)
        for job, share_s in zip(jobs, shares_s(steps, seconds, layers), strict=True):
            job.forward_s = share_s
        self._on_forward(steps, seconds)
        return logits

    def _forget_settled(self) -> None:
        self._active = [job for job in self._active if not job.settled]

    def _fail_all(self, cause: BaseException) -> None:
        self._waiting.leave()  # before it is emptied: who puts a request there looks at this afterwards
        traceback.clear_frames(cause.__traceback__)  # they hold KV
        for job in [*self._active, *self._waiting.drain()]:
            error = WorkerDiedError("the engine's thread ended unexpectedly; ask again: another takes over")
            error.__cause__ = cause
            job.fail(error)
        self._active = []
