"""What is in a store and what it was good for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ragcache.registry.index import Index
from ragcache.registry.records import PageRow, StoreUsage, Usage
from ragcache.registry.shelf import Shelf


def usage_of(shelf: Shelf, faster: Mapping[str, int]) -> StoreUsage:
    """Totals of `shelf`, and this process's bytes in tiers that are `faster`.

    A store that is read only has no history to tell of. Raises `RegistryError`.
    """
    index = shelf.index
    whole = shelf.usage()
    gaps = int(index.total("gaps")) if index else 0
    return StoreUsage(
        entries=whole.entries,
        limit_bytes=shelf.limits.limit_bytes,
        tiers={**faster, "disk": whole.size_bytes},
        namespaces=index.usages() if index else _by_namespace(shelf.rows()),
        quotas=dict(shelf.limits.quotas),
        pinned=_pinned(index) if index else {"hard": 0, "soft": 0},
        hits=int(index.total("hits")) if index else 0,
        saved_s=index.total("saved_s") if index else 0.0,
        evicted=int(index.total("evicted")) if index else 0,
        reuse_gaps=gaps,
        mean_gap_s=index.total("gap_s") / gaps if index and gaps else None,
    )


def _by_namespace(rows: Sequence[PageRow]) -> dict[str, Usage]:
    entries = Counter(row.namespace for row in rows)
    return {
        namespace: Usage(count, sum(row.size_bytes for row in rows if row.namespace == namespace))
        for namespace, count in entries.items()
    }


def _pinned(index: Index) -> dict[str, int]:
    held = index.leases.held()
    rows = index.rows() if held.hard or held.soft else []
    kinds = Counter(held.kind(row) for row in rows)
    return {"hard": kinds["hard"], "soft": kinds["soft"]}
