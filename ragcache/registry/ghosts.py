"""What was evicted lately, so that it shows how soon an evicted page is wanted again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from ragcache.registry.moment import Moment
from ragcache.registry.table import Table

GHOSTS = "ghost:"
KEPT = 1024
_NEXT = f"{GHOSTS}next"


class Ghosts:
    """The last `KEPT` evictions of one store, as a ring. Writes happen under the store's lock."""

    def __init__(self, table: Table, now: Callable[[], Moment] = Moment.now) -> None:
        self._table = table
        self._now = now

    def add(self, digest: str) -> None:
        """Note that a page was evicted now; the oldest ghost makes place for it."""
        number = self._table.get(_NEXT)
        number = number if type(number) is int and number >= 0 else 0
        slot = f"{GHOSTS}slot:{number % KEPT}"
        forgotten = self._table.get(slot)
        oldest = GHOSTS + forgotten if isinstance(forgotten, str) else GHOSTS
        if _parse(self._table.get(oldest))[:1] == [number - KEPT]:  # and not evicted again since
            self._table.delete(oldest)
        now = self._now()
        self._table.set(slot, digest)
        self._table.set(f"{GHOSTS}{digest}", json.dumps([number, now.boot, now.elapsed_s, now.wall_s]))
        self._table.set(_NEXT, number + 1)

    def take(self, digest: str) -> float | None:
        """Seconds since the page was evicted, once; None when it was not, or too long ago."""
        key = f"{GHOSTS}{digest}"
        match _parse(self._table.get(key)):
            case [int(), str() as boot, float() as elapsed_s, float() as wall_s]:
                self._table.delete(key)
                age_s = Moment(boot, elapsed_s, wall_s).age_s(self._now())
                return age_s if math.isfinite(age_s) else None
        return None


def _parse(noted: object) -> list[object]:
    try:
        values = json.loads(noted) if isinstance(noted, str) else []
    except (ValueError, RecursionError):
        return []
    return values if isinstance(values, list) else []
