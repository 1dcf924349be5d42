"""What was found for a vector, reused for vectors near it (Proximity, arXiv 2503.05530), in LSH buckets."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from ragcache.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float32]

T = TypeVar("T")
MAX_BITS = 32


@dataclass(frozen=True)
class ProximityStats:
    """Counters since the cache was made; `exact` hits had the very same vector."""

    hits: int = 0
    exact: int = 0
    misses: int = 0
    evicted: int = 0

    @property
    def hit_rate(self) -> float:
        """Hits divided by look-ups; 0 before the first."""
        return self.hits / (self.hits + self.misses) if self.hits else 0.0


@dataclass
class _Bucket(Generic[T]):
    """Unit vectors and their values, the oldest first."""

    vectors: deque[Vector] = field(default_factory=deque)
    values: deque[T] = field(default_factory=deque)

    def nearest(self, vector: Vector) -> tuple[float, T] | None:
        """The least distance to `vector`, and the value there."""
        if not self.vectors:
            return None
        distances = np.linalg.norm(np.stack(self.vectors) - vector, axis=1)
        best = int(distances.argmin())
        return float(distances[best]), self.values[best]


class ProximityCache(Generic[T]):
    """Thread-safe. Vectors count by direction; distances are Euclidean between unit vectors, 0 to 2.

    `get` gives the value of the nearest vector within `tolerance`. Only the bucket is searched whose `bits`
    signs, of products with random directions, are those of the query: near vectors mostly share it. Each
    bucket keeps its newest `bucket_size` entries. Copies are the cache itself, a pickle is an
    empty one. Raises `ConfigError` for values out of range, and for vectors that are none or of another
    dimension than the first.
    """

    def __init__(self, tolerance: float, *, bits: int = 4, bucket_size: int = 64, seed: int = 0) -> None:
        if not 0.0 <= tolerance <= 2.0:
            raise ConfigError(f"tolerance is {tolerance}; distances of unit vectors lie between 0 and 2")
        if not 0 <= bits <= MAX_BITS:
            raise ConfigError(f"bits is {bits}; give 0 (one bucket) to {MAX_BITS}")
        if bucket_size < 1:
            raise ConfigError(f"bucket_size is {bucket_size}; it must be 1 or more")
        self.tolerance, self.bits, self.bucket_size, self.seed = tolerance, bits, bucket_size, seed
        self._lock = threading.Lock()
        self._stats = ProximityStats()
        self._planes: NDArray[np.float64] | None = None
        self._buckets: dict[bytes, _Bucket[T]] = {}

    def get(self, vector: ArrayLike) -> T | None:
        """The value of the nearest entry within the tolerance, else None. Counts a hit or a miss."""
        unit = _unit(vector)
        with self._lock:
            found = self._bucket(unit).nearest(unit)
            if found is None or found[0] > self.tolerance:
                self._stats = replace(self._stats, misses=self._stats.misses + 1)
                return None
            exact = self._stats.exact + (found[0] == 0.0)
            self._stats = replace(self._stats, hits=self._stats.hits + 1, exact=exact)
            return found[1]

    def put(self, vector: ArrayLike, value: T) -> None:
        """Keep `value` for `vector`; in a full bucket the oldest entry goes."""
        unit = _unit(vector)
        with self._lock:
            bucket = self._bucket(unit)
            bucket.vectors.append(unit)
            bucket.values.append(value)
            if len(bucket.values) > self.bucket_size:
                bucket.vectors.popleft()
                bucket.values.popleft()
                self._stats = replace(self._stats, evicted=self._stats.evicted + 1)

    def clear(self) -> None:
        """Forget all entries, as after a change of what is searched; the counters stay."""
        with self._lock:
            self._buckets.clear()

    @property
    def stats(self) -> ProximityStats:
        """The counters now."""
        return self._stats

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[[], ProximityCache[T]], tuple[()]]:
        options = {"bits": self.bits, "bucket_size": self.bucket_size, "seed": self.seed}
        return partial(type(self), self.tolerance, **options), ()

    def __len__(self) -> int:
        return sum(len(bucket.values) for bucket in list(self._buckets.values()))

    def _bucket(self, unit: Vector) -> _Bucket[T]:
        if self._planes is None:
            self._planes = np.random.default_rng(self.seed).standard_normal((self.bits, len(unit)))
        if self._planes.shape[1] != len(unit):
            raise ConfigError(
                f"A vector has {len(unit)} dimensions, the cache {self._planes.shape[1]}. "
                "Use one embedding model."
            )
        return self._buckets.setdefault(np.packbits(self._planes @ unit > 0).tobytes(), _Bucket())


def _unit(vector: ArrayLike | Sequence[float]) -> Vector:
    row = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(row)) if row.ndim == 1 else 0.0
    if not 0.0 < length < np.inf:
        raise ConfigError("A vector is empty, zero, or holds NaN or infinity; it has no direction.")
    found: Vector = row / np.float32(length)
    return found
