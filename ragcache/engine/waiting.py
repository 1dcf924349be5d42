"""What waits for the worker: requests, bounded and ordered by when they are due, and calls."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from itertools import count
from typing import Any

from ragcache.engine.job import Job
from ragcache.engine.scheduler import Due
from ragcache.errors import ConfigError, EngineBusyError, EngineClosedError
from ragcache.threads import Call


class WaitingQueue:
    """Takes jobs and calls from any thread, shows the job that is due next to a single worker.

    `most` bounds the jobs that wait; one that is cancelled leaves at once. Calls are served in between, in
    their order; as their callers wait for them, there are no more than threads. A worker that finds nothing
    for a while, or dies, leaves; who puts something there afterwards finds it `unattended`. Raises
    `ConfigError`.
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ConfigError(f"max_waiting must be at least 1, not {most}")
        self._most = most
        self._changed = threading.Condition()
        self._heap: list[tuple[Due, Job]] = []
        self._waiting: dict[int, Job] = {}  # by number; what has left may still lie in the heap
        self._deadlines: list[tuple[float, int]] = []  # as the heap: some numbers may have left
        self._calls: deque[Call[Any]] = deque()
        self._numbers = count()
        self._watched = self._closed = self._unattended = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @property
    def unattended(self) -> bool:
        """Whether its worker left: nobody looks at what waits."""
        return self._unattended

    def attend(self) -> None:
        """A worker is there again."""
        self._unattended = False

    def leave(self) -> None:
        """The worker goes."""
        self._unattended = True

    def put(self, job: Job, *, wait: bool = False) -> bool:
        """Let `job` wait; whether anything is before it: others, or a worker that is at work.

        Without room `EngineBusyError` is raised, or room waited for with `wait`. Raises `EngineClosedError`.
        """
        with self._changed:
            while len(self._waiting) >= self._most and not self._closed:
                if not wait:
                    raise EngineBusyError(len(self._waiting))
                self._changed.wait()
            self._check_open()
            before = bool(self._waiting) or not (self._watched or self._unattended)
            request, number = job.request, next(self._numbers)
            job.due = Due.of(number, job.submitted, request.priority, request.timeout_s)
            self._waiting[number] = job
            heapq.heappush(self._heap, (job.due, job))
            if request.timeout_s is not None:
                heapq.heappush(self._deadlines, (job.submitted + request.timeout_s, number))
            self._changed.notify_all()
        job.future.add_done_callback(lambda _: self._drop_cancelled(job))
        return before

    def put_call(self, call: Call[Any]) -> None:
        """Let `call` wait. Raises `EngineClosedError`."""
        with self._changed:
            self._check_open()
            self._calls.append(call)
            self._changed.notify_all()

    def next_call(self) -> Call[Any] | None:
        """Take out the first call, if there is one."""
        with self._changed:
            return self._calls.popleft() if self._calls else None

    def stay(self, wait_s: float | None) -> bool:
        """Wait for a job or a call; False, and the worker has left, if `wait_s` seconds bring neither.

        None waits for ever. False also when the queue was closed. The worker must end then: another may have
        taken its place already.
        """
        with self._changed:
            self._watched = True
            self._changed.wait_for(lambda: self._waiting or self._calls or self._closed, wait_s)
            self._watched = False
            stays = bool(self._waiting or self._calls)
            if not stays:  # nobody can put anything there before this is known
                self._unattended = True
            return stays

    def take_late(self) -> list[Job]:
        """Take out the jobs whose time is over."""
        late = []
        with self._changed:
            while self._deadlines and self._deadlines[0][0] < time.monotonic():
                job = self._waiting.pop(heapq.heappop(self._deadlines)[1], None)
                if job is not None:
                    late.append(job)
            if late:
                self._changed.notify_all()
        return late

    def head(self) -> Job | None:
        """The next job, left where it is; None if there is none."""
        with self._changed:
            while self._heap and self._heap[0][0].number not in self._waiting:
                heapq.heappop(self._heap)
            return self._heap[0][1] if self._heap else None

    def remove(self, job: Job) -> bool:
        """Take out `job`; False if it is not there any more, and somebody else sees to it."""
        with self._changed:
            found = self._waiting.pop(job.due.number, None) is not None
            self._changed.notify_all()
            return found

    def drain(self) -> list[Job | Call[Any]]:
        """Take out all, jobs in their order."""
        with self._changed:
            jobs = sorted(self._waiting.values(), key=lambda job: job.due)
            found: list[Job | Call[Any]] = [*self._calls, *jobs]
            self._calls.clear()
            self._waiting.clear()
            self._heap.clear()
            self._deadlines.clear()
            self._changed.notify_all()
            return found

    def close(self) -> list[Job | Call[Any]]:
        """Take no more, and take out all."""
        with self._changed:
            self._closed = True
        return self.drain()

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosedError("this engine is closed; make a new one")

    def _drop_cancelled(self, job: Job) -> None:
        if job.future.cancelled() and self.remove(job):
            job.settle()
