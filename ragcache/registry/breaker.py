"""Calls that may hang: bounded in time, and not even tried while they keep failing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
_MOST_RUNNING = 32


class CircuitBreaker:
    """Open after `failures` in a row; then one trial every `reset_s` seconds until one succeeds.

    `clock` gives seconds and never goes back. Thread-safe. Source: Nygard, Release It! (2007).
    """

    def __init__(self, failures: int, reset_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._reset_s, self._clock = failures, reset_s, clock
        self._lock = threading.Lock()
        self._failures = 0
        self._tried_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether calls are refused, but for trials."""
        return self._failures >= self._limit

    def allows(self) -> bool:
        """Whether a call may be made now; when open, True makes the caller the trial."""
        with self._lock:
            if not self.is_open:
                return True
            now_s = self._clock()
            if now_s - self._tried_s < self._reset_s:
                return False
            self._tried_s = now_s
            return True

    def succeeded(self) -> None:
        """Close it."""
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        """Count a failure; the last one opens it, or keeps it open."""
        with self._lock:
            self._failures += 1
            self._tried_s = self._clock()


class DeadlineCaller:
    """Runs calls in threads of their own and waits for each only so long.

    A call that hangs keeps its thread, which does not keep the process alive; over a number of them, no
    more are made.
    """

    def __init__(self, most_running: int = _MOST_RUNNING) -> None:
        self._slots = threading.BoundedSemaphore(most_running)

    def call(self, function: Callable[[], T], timeout_s: float) -> T:
        """What `function` returns or raises. Raises TimeoutError when it takes longer."""
        if not self._slots.acquire(blocking=False):
            raise TimeoutError("too many earlier calls still hang")
        future: Future[T] = Future()

        def work() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            finally:
                self._slots.release()

        threading.Thread(target=work, name="ragcache-remote", daemon=True).start()
        try:
            return future.result(timeout_s)
        except TimeoutError:
            if future.done():
                raise  # the function's own
            raise TimeoutError(f"no answer within {timeout_s:.1f} s") from None
