"""Private KV in a pool: a request is granted the very columns its KV lies in, so what is counted is there.

Attention reads columns that lie side by side, and copying them there from scattered pages at every layer
would cost more than it saves. So a grant is one run of columns, at the same place in every layer, and its
unit is one column: nothing is rounded. Runs of different length leave gaps; a request that fits none of them
waits, as it does for memory, until those before it end and the gaps join. Nothing in use is ever moved.
"""

from __future__ import annotations

import threading

from ragcache.byte_count import ByteCount
from ragcache.engine.free_runs import FreeRuns
from ragcache.errors import ConfigError, RequestTooLargeError
from ragcache.model.private_memory import Columns, PrivateMemory


class _Slab:
    """So many columns; their memory is asked of `source` when it is used for the first time."""

    def __init__(self, columns: int, source: PrivateMemory) -> None:
        self.free = FreeRuns(columns)
        self._source = source
        self._columns: Columns | None = None

    def zeros(self, start: int, stop: int) -> Columns:
        """Columns `start..stop`, set to 0: nobody's KV is left, nor NaN, which would shine through a mask."""
        if self._columns is None:
            self._columns = self._source.take(self.free.size)
        keys, values = (tuple(layer[:, start:stop].zero_() for layer in kind) for kind in self._columns)
        return keys, values


class Grant:
    """A run of columns that one request may use until `release`; a `PrivateMemory`."""

    def __init__(self, pool: KVPool, slab: _Slab, start: int, columns: int) -> None:
        self._pool, self._slab, self._start = pool, slab, start
        self._columns, self._taken = columns, 0

    def take(self, columns: int) -> Columns:
        """See `PrivateMemory`. Raises `ConfigError` for more than was granted."""
        if columns > self._columns:
            raise ConfigError(
                f"a request takes {columns} columns of private KV and was granted {self._columns}; the "
                "budget of its policy must choose no more anchors than its `most` allows"
            )
        self._pool.hold(columns - self._taken)
        self._taken = columns
        return self._slab.zeros(self._start, self._start + columns)

    def settle(self) -> None:
        """What was taken last is all that the request needs: the rest is free again."""
        self._cut(self._taken)

    def release(self) -> None:
        """The request holds nothing any more; may be called again."""
        self._pool.hold(-self._taken)
        self._taken = 0
        self._cut(0)

    def _cut(self, columns: int) -> None:
        start, stop = self._start + columns, self._start + self._columns
        self._columns = columns
        self._pool.give(self._slab, start, stop)


class KVPool:
    """Columns of private KV, of all requests that run.

    With `limit_bytes` there is one slab of that size, from the first request on. Without, a slab is added
    where nothing fits: those that nobody uses, being too small, go then, and all of them when nothing runs.
    Columns take `column_bytes`. Thread-safe. Raises `ConfigError` for a limit that no request fits.
    """

    def __init__(self, source: PrivateMemory, column_bytes: int, limit_bytes: int | None = None) -> None:
        if limit_bytes is not None and limit_bytes < 1:
            raise ConfigError(f"kv_bytes must be at least 1, not {limit_bytes}; None sets no limit")
        self.limit_bytes = limit_bytes
        self._source, self._column_bytes = source, column_bytes
        self._lock = threading.Lock()
        self._slabs = [] if limit_bytes is None else [_Slab(limit_bytes // column_bytes, source)]
        self._granted, self._held = ByteCount(), ByteCount()

    @property
    def used_bytes(self) -> int:
        """Granted now; 0 when nothing runs."""
        return self._granted.size_bytes

    @property
    def peak_bytes(self) -> int:
        """The most that was granted at a time."""
        return self._granted.peak_bytes

    @property
    def held_peak_bytes(self) -> int:
        """The most that requests held at a time, of what they were granted."""
        return self._held.peak_bytes

    def take(self, columns: int) -> Grant | None:
        """A grant of `columns`; None while others leave no run of that length.

        Raises `RequestTooLargeError` when waiting would not help.
        """
        needed_bytes = columns * self._column_bytes
        if self.limit_bytes is not None and needed_bytes > self.limit_bytes:
            raise RequestTooLargeError(needed_bytes, self.limit_bytes)
        with self._lock:
            found = self._place(columns)
            if found is None:
                return None
            self._granted.add(needed_bytes)
        return Grant(self, *found, columns)

    def hold(self, by_columns: int) -> None:
        """A request holds so many more columns; called by `Grant`."""
        with self._lock:
            self._held.add(by_columns * self._column_bytes)

    def give(self, slab: _Slab, start: int, stop: int) -> None:
        """Columns are free again; called by `Grant`."""
        with self._lock:
            slab.free.give(start, stop)
            self._granted.add((start - stop) * self._column_bytes)
            if self.limit_bytes is None and not self._granted.size_bytes:
                self._slabs = []

    def _place(self, columns: int) -> tuple[_Slab, int] | None:
        for slab in self._slabs:
            start = slab.free.take(columns)
            if start is not None:
                return slab, start
        if self.limit_bytes is not None:
            return None
        self._slabs = [slab for slab in self._slabs if not slab.free.all_free]
        self._slabs.append(_Slab(columns, self._source))
        return self._place(columns)
