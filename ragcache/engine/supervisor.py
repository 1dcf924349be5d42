"""One worker at a time on one queue: another takes the place of one that had nothing to do, or died."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from ragcache.engine.job import Job
from ragcache.engine.waiting import WaitingQueue
from ragcache.engine.worker import Worker
from ragcache.errors import EngineClosedError, WorkerDiedError
from ragcache.threads import Call

T = TypeVar("T")


class Supervisor:
    """Hands requests and calls to the worker on `waiting`, made by `make`, until `close`. Thread-safe."""

    def __init__(self, waiting: WaitingQueue, make: Callable[[WaitingQueue], Worker]) -> None:
        self.waiting, self._make = waiting, make
        self._replacing = threading.Lock()
        self.worker = self._started()

    def submit(self, job: Job, *, wait: bool = False) -> bool:
        """See `WaitingQueue.put`."""
        before = self.waiting.put(job, wait=wait)
        self._attend()
        return before

    def run(self, function: Callable[[], T]) -> T:
        """What `function` returns, or raises, run by the worker between two forwards.

        A callback of the worker's own cannot wait for its thread: there it is run at once. Raises
        `EngineClosedError` after `close`, or when that comes first, `WorkerDiedError` when the thread dies
        first.
        """
        call = Call(function)
        if threading.current_thread() is self.worker and not self.waiting.closed:
            call.run()
        else:
            self.waiting.put_call(call)
            self._attend()
        return call.result()

    def close(self) -> None:
        """Fail what still waits with `EngineClosedError`; the worker ends once what runs is done."""
        with self._replacing:
            left = self.waiting.close()
        for one in left:
            one.fail(EngineClosedError("the engine was closed before its turn came"))
        if threading.current_thread() is not self.worker:  # a callback may close, and cannot wait for itself
            self.worker.join()

    def _attend(self) -> None:
        """Looked at once something waits: a worker that leaves later finds it there."""
        if self._is_unattended():
            with self._replacing:
                if self._is_unattended() and not self.waiting.closed:
                    self._replace()

    def _is_unattended(self) -> bool:
        return self.waiting.unattended or not self.worker.is_alive()  # after a fork there is no thread

    def _replace(self) -> None:
        self.waiting.attend()
        try:
            self.worker = self._started()
        except RuntimeError as error:  # no more threads, or the interpreter goes down
            self.waiting.leave()
            for one in self.waiting.drain():
                died = WorkerDiedError(f"the engine could not start its thread: {error}; ask again")
                died.__cause__ = error
                one.fail(died)

    def _started(self) -> Worker:
        worker = self._make(self.waiting)
        worker.start()
        return worker
