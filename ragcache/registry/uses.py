"""Hits that wait to be written to the index."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

HELD_PAGES = 64
HELD_S = 5.0


class PendingUses:
    """Hits per page, least recently used first, so that a hit costs no write. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hits: OrderedDict[str, int] = OrderedDict()
        self._taken_s = time.monotonic()

    def add(self, digest: str) -> bool:
        """Note a hit; True when it is time to `take`."""
        with self._lock:
            self._hits[digest] = self._hits.get(digest, 0) + 1
            self._hits.move_to_end(digest)
            return len(self._hits) >= HELD_PAGES or time.monotonic() - self._taken_s >= HELD_S

    def take(self) -> OrderedDict[str, int]:
        """What was noted; nothing is left behind."""
        with self._lock:
            hits, self._hits = self._hits, OrderedDict()
            self._taken_s = time.monotonic()
            return hits
