"""Which pages go first when the store is full."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from ragcache.registry.records import PageRow


class EvictionPolicy(Protocol):
    """Gives a page its priority whenever it is stored or used; the lowest goes first, ties by last use.

    Processes that share a store should agree on it: opening a store with another policy ranks all its
    pages anew. `ragcache registry replay` compares policies on a trace.
    """

    @property
    def name(self) -> str:
        """What the store remembers as the policy its pages are ranked by."""
        ...

    def priority(self, row: PageRow, floor: float) -> float:
        """Priority of `row` as it is after this use, finite and not negative.

        `floor` is the highest priority that was evicted so far: whatever adds to it ages what is not used.
        """
        ...


class LRU:
    """Least recently used first, by the index's use counter: a clock set back changes nothing."""

    name = "lru"

    def priority(self, row: PageRow, floor: float) -> float:
        """See `EvictionPolicy.priority`."""
        return float(row.use_order)


class LFU:
    """Least often used first. What was popular once stays for ever."""

    name = "lfu"

    def priority(self, row: PageRow, floor: float) -> float:
        """See `EvictionPolicy.priority`."""
        return float(row.hits)


class GDSF:
    """Least seconds saved per byte first: H = L + uses * max(0, encode_s - load_s) / bytes, L the floor.

    GreedyDual-Size-Frequency (Cherkasova 1998) with measured seconds as the cost. Building a page counts
    as its first use, so that a new page is not below all others.
    """

    name = "gdsf"

    def priority(self, row: PageRow, floor: float) -> float:
        """See `EvictionPolicy.priority`."""
        return floor + (row.hits + 1) * row.saves_s / max(1, row.size_bytes)


POLICIES: Mapping[str, EvictionPolicy] = MappingProxyType(
    {policy.name: policy for policy in (LRU(), LFU(), GDSF())}
)
