"""The values the registry hands out: one row per page, one record per name, and its reports."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import asdict, dataclass, fields

LARGEST = 2**62
"""Bound for whole numbers read back from disk; keeps sums inside SQLite's 64-bit integers."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    """Whether `text` may be part of a file name of this store."""
    return _DIGEST.fullmatch(text) is not None


@dataclass(frozen=True)
class PageRow:
    """One page on disk. `size_bytes` is its whole file; `use_order` grows with every use (no clock)."""

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
        texts = (data[name] for name in ("digest", "model", "dtype", "text_digest", "codec"))
        counts = (data[name] for name in ("tokens", "size_bytes", "hits", "use_order"))
        times = (data[name] for name in ("created_s", "last_used_s", "encode_s"))
        sound = (
            all(isinstance(value, str) for value in texts)
            and is_digest(data["digest"])
            and all(type(value) is int and 0 <= value < LARGEST for value in counts)
            and all(type(value) in (int, float) for value in times)
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
    """What a check of every payload found; `messages` has one line per finding.

    `damaged` files were quarantined, `missing` rows had no file and were dropped, `adopted` files had
    no row and got one back from their header.
    """

    ok: int
    damaged: int
    missing: int
    adopted: int
    messages: tuple[str, ...] = ()


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


class Counters:
    """Event counts that threads may raise together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def add(self, event: str) -> None:
        """Count `event` once."""
        with self._lock:
            self._counts[event] = self._counts.get(event, 0) + 1

    def __getitem__(self, event: str) -> int:
        return self._counts.get(event, 0)
