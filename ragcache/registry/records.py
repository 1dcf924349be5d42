"""The values the registry hands out: one row per page, one record per name, and its reports."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

LARGEST = 2**62
"""Bound for whole numbers read back from disk; keeps sums inside SQLite's 64-bit integers."""
ROW_HISTORY = ("last_used_s", "hits", "use_order", "load_s", "priority", "namespace_priority")
"""Fields of a `PageRow` that no payload header knows."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    """Whether `text` may be part of a file name of this store."""
    return _DIGEST.fullmatch(text) is not None


@dataclass(frozen=True)
class PageRow:
    """One page on disk. `size_bytes` is its whole file; `use_order` grows with every use (no clock).

    `load_s` is what loading it took of late, 0 until it was measured. The priorities are the eviction
    policy's at its last use: among all pages, and among those of its namespace.
    """

    digest: str
    model: str
    dtype: str
    tokens: int
    size_bytes: int
    created_s: float
    last_used_s: float
    hits: int
    encode_s: float
    text_digest: str
    use_order: int = 0
    codec: str = "raw"
    namespace: str = "default"
    load_s: float = 0.0
    priority: float = 0.0
    namespace_priority: float = 0.0

    @property
    def saves_s(self) -> float:
        """Seconds one hit saves; 0 where loading is no faster, for then it is better encoded anew."""
        return max(0.0, self.encode_s - self.load_s)

    def used(self, hits: int, load_s: float | None, use_order: int) -> PageRow:
        """The row after more `hits`; `load_s` is the mean of new measurements, old ones fade."""
        if load_s is not None and self.load_s:
            load_s = 0.8 * self.load_s + 0.2 * load_s
        return replace(
            self,
            hits=self.hits + hits,
            last_used_s=time.time(),
            use_order=use_order,
            load_s=self.load_s if load_s is None else load_s,
        )

    def to_json(self) -> str:
        """The row as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: object) -> PageRow | None:
        """The row in `text`, or None when it is anything that `to_json` would not have written."""
        try:
            data = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(data, dict) or data.keys() != {field.name for field in fields(cls)}:
            return None
        texts = (data[name] for name in ("digest", "model", "dtype", "text_digest", "codec", "namespace"))
        counts = (data[name] for name in ("tokens", "size_bytes", "hits", "use_order"))
        times = [data[name] for name in ("created_s", "last_used_s")]
        measured = [data[name] for name in ("encode_s", "load_s", "priority", "namespace_priority")]
        sound = (
            all(isinstance(value, str) for value in texts)
            and is_digest(data["digest"])
            and all(type(value) is int and 0 <= value < LARGEST for value in counts)
            and all(type(value) in (int, float) and abs(value) < LARGEST for value in times + measured)
            and min(measured) >= 0
        )
        return cls(**data) if sound else None


@dataclass(frozen=True)
class AffixRecord:
    """A registered name and its normalised text. `text_digest` is private to store and namespace.

    `source` says what keeps the name up to date ("": its user).
    """

    name: str
    text: str
    text_digest: str
    namespace: str
    created_s: float
    updated_s: float
    source: str = ""


@dataclass(frozen=True)
class VerifyReport:
    """What a check of every payload and name found; `messages` has one line per finding.

    `damaged` files were quarantined, `missing` rows had no file and were dropped, `adopted` files had no row
    and got one back from their header, `contradicted` rows said something else than it. Of the names, `names`
    can be read and `damaged_names` were quarantined. `leftovers` of killed processes were removed.
    """

    ok: int
    damaged: int
    missing: int
    adopted: int
    messages: tuple[str, ...] = ()
    contradicted: int = 0
    names: int = 0
    damaged_names: int = 0
    leftovers: int = 0


@dataclass(frozen=True)
class RegistryStats:
    """`entries` and `size_bytes` are the store's; the counters are this registry's since it was opened."""

    entries: int
    size_bytes: int
    limit_bytes: int
    hits: int
    misses: int
    stored: int
    evicted: int
    quarantined: int
    saved_s: float = 0.0


@dataclass(frozen=True)
class Usage:
    """Pages and the bytes of their files."""

    entries: int = 0
    size_bytes: int = 0


@dataclass(frozen=True)
class StoreUsage:
    """What all processes did with a store, as its index remembers it, and what is in it now.

    `hits` and `saved_s` (seconds that hits saved) are of all pages ever stored, the evicted ones too. Of
    `reuse_gaps` evicted pages, built again while the store remembered them, `mean_gap_s` is how long
    after the eviction that was; None without any. `pinned` counts pages by kind of pin.
    """

    entries: int
    limit_bytes: int
    tiers: Mapping[str, int]
    namespaces: Mapping[str, Usage]
    quotas: Mapping[str, int]
    pinned: Mapping[str, int]
    hits: int
    saved_s: float
    evicted: int
    reuse_gaps: int
    mean_gap_s: float | None


@dataclass(frozen=True)
class GcReport:
    """What was removed, or would be: ended leases, files of killed processes, quarantined files, pages.

    `freed_bytes` is the size of all those files.
    """

    leases: int
    orphans: int
    quarantined: int
    pages: int
    freed_bytes: int


class Counters:
    """Event counts that threads may raise together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._saved_s = 0.0

    @property
    def saved_s(self) -> float:
        """Seconds that hits saved."""
        return self._saved_s

    def add(self, event: str, times: int = 1) -> None:
        """Count `event`."""
        with self._lock:
            self._counts[event] = self._counts.get(event, 0) + times

    def save(self, seconds: float) -> None:
        """Add to `saved_s`."""
        with self._lock:
            self._saved_s += seconds

    def __getitem__(self, event: str) -> int:
        return self._counts.get(event, 0)
