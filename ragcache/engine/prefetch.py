"""Pages of waiting requests, brought into memory while others are answered."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress

from ragcache.engine.request import Request

log = logging.getLogger(__name__)
CLOSE_S = 5.0


class Prefetcher:
    """Calls `pull` for requests in a thread of its own, `most` of them waiting at a time.

    It only ever saves time: what does not fit the queue, has begun meanwhile or fails is left to the request.
    """

    def __init__(self, pull: Callable[[Request], None], most: int) -> None:
        self._pull = pull
        self._waiting: queue.Queue[tuple[Request, Callable[[], bool]] | None] = queue.Queue(most)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ragcache-prefetch", daemon=True)
        self._thread.start()

    def offer(self, request: Request, too_late: Callable[[], bool]) -> bool:
        """Never blocks; whether the request was taken."""
        try:
            self._waiting.put_nowait((request, too_late))
        except queue.Full:
            return False
        return True

    def close(self) -> None:
        """Drop what waits, and let the thread end with what it is doing."""
        self._stopped.set()
        with suppress(queue.Full):  # when it is, the thread does not wait, and sees that it was stopped
            self._waiting.put_nowait(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(CLOSE_S)

    def _work(self) -> None:
        while (waiting := self._waiting.get()) is not None and not self._stopped.is_set():
            request, too_late = waiting
            if too_late():
                continue
            try:
                self._pull(request)
            except Exception as error:  # the request will meet it again, and tell its caller
                log.info("prefetch: %s", error)
