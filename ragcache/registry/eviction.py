"""Which pages go first when the store is full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ragcache.registry.records import PageRow


class EvictionPolicy(Protocol):
    """One method; the registry takes victims from the front until the new page fits."""

    def rank(self, rows: Iterable[PageRow]) -> list[PageRow]:
        """The rows that may go, first victim first. A row left out is kept."""
        ...


class LRU:
    """Least recently used first, by the index's use counter: a clock set back changes nothing."""

    def rank(self, rows: Iterable[PageRow]) -> list[PageRow]:
        """See `EvictionPolicy.rank`."""
        return sorted(rows, key=lambda row: row.use_order)
