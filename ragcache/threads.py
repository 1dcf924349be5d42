"""Having functions run by other threads, and why: where torch computes matters to how fast it is.

libgomp keeps a pool of threads for every thread that ever computed, for as long as that one lives. Once all
pools together have more threads than there are cores, it spins a thousandth as long at barriers
(GOMP_SPINCOUNT), and the many short parallel regions of a small forward wait for the kernel instead: with a
pool left behind in the main thread, a refine of 0.6 s took 1.2 s on two cores. So one thread computes, the
engine's worker; what it cannot do is done `in_own_thread`, whose pool goes with it.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class Call(Generic[T]):
    """A function for another thread to run, and the way back of what it returns or raises."""

    function: Callable[[], T]
    future: Future[T] = field(default_factory=Future)

    def run(self) -> None:
        """Run it, if anybody still waits; raises nothing."""
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self.function())
            except BaseException as error:
                traceback.clear_frames(error.__traceback__)  # callers may keep an error, and what they hold
                self.future.set_exception(error)

    def fail(self, error: BaseException) -> None:
        """Hand `error` to the caller, instead of running it."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)

    def result(self) -> T:
        """What it returned, once it has; raises what it raised."""
        try:
            return self.future.result()
        finally:
            self.future.cancel()  # who was interrupted waits no more


def in_own_thread(function: Callable[[], T]) -> T:
    """What `function` returns, or raises, run by a thread that ends with it."""
    call = Call(function)
    thread = threading.Thread(target=call.run, name="ragcache-once")
    thread.start()
    thread.join()  # not only for the result: its pool is there until it has ended
    return call.result()
