"""Hits that wait to be written to the index."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

HELD_PAGES = 64
HELD_S = 5.0


@dataclass(frozen=True)
class Use:
    """Hits of one page, and the seconds of those that had to load it."""

    hits: int = 0
    loads: int = 0
    total_load_s: float = 0.0

    @property
    def load_s(self) -> float | None:
        """Mean seconds of a load; None without one."""
        return self.total_load_s / self.loads if self.loads else None

    def and_then(self, hits: int, load_s: float | None) -> Use:
        """With more hits, one of which took `load_s` to load; None if the page was in memory."""
        return Use(self.hits + hits, self.loads + (load_s is not None), self.total_load_s + (load_s or 0.0))


class PendingUses:
    """Hits per page, least recently used first, so that a hit costs no write. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: OrderedDict[str, Use] = OrderedDict()
        self._taken_s = time.monotonic()

    def add(self, digest: str, load_s: float | None, hits: int = 1) -> bool:
        """Note a hit and the seconds it took to load, if it did; True when it is time to `take`.

        0 `hits` for a page that is loaded ahead of its use.
        """
        with self._lock:
            self._uses[digest] = self._uses.get(digest, Use()).and_then(hits, load_s)
            self._uses.move_to_end(digest)
            return len(self._uses) >= HELD_PAGES or time.monotonic() - self._taken_s >= HELD_S

    def take(self) -> OrderedDict[str, Use]:
        """What was noted; nothing is left behind."""
        with self._lock:
            uses, self._uses = self._uses, OrderedDict()
            self._taken_s = time.monotonic()
            return uses
