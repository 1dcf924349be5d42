"""Waiting requests, tokenised and their pages brought into memory while others are answered."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from ragcache.engine.job import Job
from ragcache.threads import in_own_thread

log = logging.getLogger(__name__)
CLOSE_S = 5.0


class Prefetcher:
    """Calls `pull` for jobs that wait, one after another, `most` of them waiting for it at a time.

    Each in a thread that ends with it, for `pull` computes: pages are decoded. It only ever saves time: what
    does not fit the queue, has begun meanwhile or fails is left to the request.
    """

    def __init__(self, pull: Callable[[Job], None], most: int) -> None:
        self._pull = pull
        self._waiting: queue.Queue[Job | None] = queue.Queue(most)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ragcache-prefetch", daemon=True)
        self._thread.start()

    def offer(self, job: Job) -> bool:
        """Never blocks; whether the job was taken."""
        try:
            self._waiting.put_nowait(job)
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
        while (job := self._waiting.get()) is not None and not self._stopped.is_set():
            if job.begun or job.future.done():
                continue
            try:
                in_own_thread(partial(self._pull, job))
            except Exception as error:  # the request will meet it again, and tell its caller
                log.info("prefetch: %s", error)
