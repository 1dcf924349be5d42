"""Uploads in the background: bounded in number, tried again when they fail, never waited for."""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ragcache.registry.key import AffixKey


@dataclass(frozen=True, order=True)
class _Upload:
    """A key to be tried at `due_s` after `tries` failures; `number` orders those that are due together."""

    due_s: float
    number: int
    key: AffixKey = field(compare=False)
    tries: int = field(default=0, compare=False)


class Uploads:
    """Keys that wait, and the one thread that works them off; it starts with the first. Thread-safe.

    `upload` says whether the key is done with. One that is not is tried `retries` times more, after `retry_s`
    and then after twice as long each time; `on_drop` is told of every key that is given up. At most `most`
    keys wait, those to be tried again among them.
    """

    def __init__(
        self,
        upload: Callable[[AffixKey], bool],
        on_drop: Callable[[AffixKey], None],
        *,
        most: int,
        retries: int,
        retry_s: float,
    ) -> None:
        self._upload, self._on_drop = upload, on_drop
        self._most, self._retries, self._retry_s = most, retries, retry_s
        self._changed = threading.Condition()
        self._waiting: list[_Upload] = []
        self._current: _Upload | None = None
        self._number = 0
        self._closing = self._stopped = False
        self._thread: threading.Thread | None = None

    def offer(self, key: AffixKey) -> None:
        """Queue `key`; dropped when as many wait as may, or after closing."""
        with self._changed:
            taken = not self._closing and len(self._waiting) < self._most
            if taken:
                self._push(_Upload(time.monotonic(), self._number, key))
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="ragcache-upload", daemon=True)
                    self._thread.start()
        if not taken:
            self._on_drop(key)

    def close(self, wait_s: float) -> int:
        """Work off all that waits, without pauses, for at most `wait_s`; the number of keys given up."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(wait_s)
        with self._changed:
            self._stopped = True
            left = [upload.key for upload in self._waiting]
            self._waiting.clear()
            if self._current is not None:  # it hangs, and whatever becomes of it nobody is here to see
                left.append(self._current.key)
                self._current = None
        for key in left:
            self._on_drop(key)
        return len(left)

    def _work(self) -> None:
        while (upload := self._next()) is not None:
            self._finish(upload, done=self._upload(upload.key))

    def _next(self) -> _Upload | None:
        """The next one when it is due, at once while closing; None when there will be none."""
        with self._changed:
            while not self._stopped:
                due_s = self._waiting[0].due_s if self._waiting else math.inf
                wait_s = 0.0 if self._closing else due_s - time.monotonic()
                if wait_s <= 0:
                    self._current = heapq.heappop(self._waiting) if self._waiting else None
                    return self._current
                self._changed.wait(min(wait_s, threading.TIMEOUT_MAX))
        return None

    def _finish(self, upload: _Upload, *, done: bool) -> None:
        with self._changed:
            forgotten = self._current is None
            self._current = None
            room = upload.tries < self._retries and len(self._waiting) < self._most and not self._stopped
            if not done and room:
                due_s = time.monotonic() + self._retry_s * 2**upload.tries
                self._push(_Upload(due_s, self._number, upload.key, upload.tries + 1))
        if not (done or room or forgotten):
            self._on_drop(upload.key)

    def _push(self, upload: _Upload) -> None:
        self._number += 1
        heapq.heappush(self._waiting, upload)
        self._changed.notify_all()
