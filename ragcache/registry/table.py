"""A transactional table of plain values in SQLite that processes share.

diskcache is used as that table only. Its values and keys may be pickles and its `filename` column a
path, so `PlainDisk` knows neither, whatever the database says.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import diskcache

from ragcache.errors import StoreDamagedError, StoreFullError, StoreReadOnlyError, StoreUnavailableError

_BUSY_TIMEOUT_S = 60
_MODE_RAW = 1
_BATCH = 200
_LAST = "\U0010ffff"  # sorts behind every other character
_SETTINGS = {
    "eviction_policy": "none",
    "cull_limit": 0,
    "size_limit": 2**60,
    "statistics": 0,
    "tag_index": 0,
    "sqlite_journal_mode": "wal",
    "sqlite_synchronous": 1,
}
_COUNTERS = ("count", "size", "hits", "misses")
_COLUMNS = "key, raw, store_time, expire_time, access_time, access_count, tag, size, mode, filename, value"
_TABLES = {"Settings", "Cache"}
_TRIGGERS = {f"Settings_{what}" for what in ("count_insert", "count_delete")} | {
    f"Settings_size_{event}" for event in ("insert", "update", "delete")
}
# Only rows that `PlainDisk` could have written, by the table's index on (key, raw).
_RANGE = (
    "SELECT key, value FROM Cache WHERE key > ? AND key < ? AND raw = 1 "
    f"AND mode = {_MODE_RAW} AND filename IS NULL ORDER BY key LIMIT {_BATCH}"
)

Value = str | bytes | int | float


class PlainDisk(diskcache.Disk):  # type: ignore[misc]
    """Stores and fetches str, bytes, int and float in the row itself: no pickle, no file.

    Reading anything else raises OSError, which diskcache takes for a missing row.
    """

    def put(self, key: object) -> tuple[str, bool]:
        """A str key as it is; TypeError for others."""
        if type(key) is not str:
            raise TypeError(f"index keys are str, not {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: object) -> str | None:
        """The key of a row, or None for one that `put` did not make."""
        return key if raw == 1 and isinstance(key, str) else None

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, Any]:
        """Columns size, mode, filename and value; TypeError for other types and for file handles."""
        if read or type(value) not in (str, bytes, int, float):
            raise TypeError(f"index values are str, bytes, int or float, not {type(value).__name__}")
        return 0, _MODE_RAW, None, value

    def fetch(self, mode: object, filename: object, value: Any, read: bool) -> Any:
        """The value of a raw row; OSError for a pickle, a file name or a file handle."""
        if mode != _MODE_RAW or filename is not None or read:
            raise OSError("refused: the row was not written by this index")
        return value

    def remove(self, file_path: object) -> None:
        """Nothing: rows have no files, and a planted name is not to be followed."""


class Table:
    """Values by key, sorted. Opening must happen under the store's lock; a damaged database is thrown away.

    Methods raise `StoreDamagedError`, `StoreFullError`, `StoreReadOnlyError` or `StoreUnavailableError`.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "cache.db"
        if not _is_sound(self._path):
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        if not self._path.exists():
            # Created here, so that SQLite, and its -wal and -shm files after it, keep these permissions.
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with self._translated():
            self._cache = diskcache.Cache(str(folder), timeout=_BUSY_TIMEOUT_S, disk=PlainDisk, **_SETTINGS)

    def get(self, key: str) -> Value | None:
        """The value, or None; one that this table cannot have written counts as absent."""
        with self._translated():
            value: Value | None = self._cache.get(key)
            return value

    def items(self, prefix: str) -> Iterator[tuple[str, Value]]:
        """Keys that begin with `prefix`, sorted, and their values; read in small batches as asked for."""
        last, end = prefix, prefix + _LAST
        while True:
            with self._translated():
                batch = self._cache._sql(_RANGE, (last, end)).fetchall()
            yield from batch
            if len(batch) < _BATCH:
                return
            last = batch[-1][0]

    def set(self, key: str, value: Value) -> None:
        """Insert or replace."""
        with self._translated():
            self._cache.set(key, value)

    def delete(self, key: str) -> None:
        """Remove, if it is there."""
        with self._translated():
            self._cache.delete(key)

    def add(self, key: str, amount: float) -> None:
        """Add to a number; one that is absent or unreadable counts as 0."""
        value = self.get(key)
        self.set(key, (value if type(value) in (int, float) else 0) + amount)  # type: ignore[operator]

    def keep_only(self, prefixes: Iterable[str]) -> None:
        """Remove everything but the keys that begin with one of `prefixes`."""
        with self.transaction():
            kept = [item for prefix in prefixes for item in self.items(prefix)]
            self._cache.clear()
            for key, value in kept:
                self.set(key, value)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes inside happen together or not at all; may be nested."""
        # Never diskcache's retry: it would wait for ever on a database that cannot be written to.
        with self._translated(), self._cache.transact():
            yield

    def close(self) -> None:
        """Close this thread's connection; those of other threads end with them."""
        self._cache.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except diskcache.Timeout as error:
            if os.access(self._path, os.W_OK):
                raise StoreUnavailableError(
                    f"{self._path} is locked by another process; try again."
                ) from error
            raise _read_only(self._path) from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_FULL:
                raise StoreFullError(f"no room left on the disk of {self._path}; free some.") from error
            if code == sqlite3.SQLITE_READONLY:
                raise _read_only(self._path) from error
            raise StoreDamagedError(
                f"{self._path} is unreadable ({error}); close the registry and open it again to rebuild it."
            ) from error


def _read_only(path: Path) -> StoreReadOnlyError:
    return StoreReadOnlyError(f"{path} cannot be written to; check its permissions.")


def _is_sound(path: Path) -> bool:
    """Whether diskcache may be let near the database; takes out settings that are not ours."""
    if not os.path.lexists(path):
        return False
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)) as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return False
            schema = connection.execute("SELECT type, name, tbl_name FROM sqlite_master").fetchall()
            if not all(_is_known(*entry) for entry in schema):
                return False
            tables = {name for kind, name, _ in schema if kind == "table"}
            if "Settings" in tables:
                _drop_foreign_settings(connection)
            for _ in connection.execute(f"SELECT {_COLUMNS} FROM Cache") if "Cache" in tables else ():
                pass  # a text that is not UTF-8 raises here, and not in every later scan
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return True


def _drop_foreign_settings(connection: sqlite3.Connection) -> None:
    """diskcache would set every stored setting as an attribute of itself or of its Disk."""
    ours = {**diskcache.DEFAULT_SETTINGS, **_SETTINGS}
    stored = connection.execute("SELECT key, value FROM Settings").fetchall()
    if any(key not in _COUNTERS and value != ours.get(key) for key, value in stored):
        connection.execute("DELETE FROM Settings WHERE key NOT IN (?, ?, ?, ?)", _COUNTERS)


def _is_known(kind: str, name: str, table: str) -> bool:
    known = {"table": _TABLES, "trigger": _TRIGGERS}.get(kind)
    return name in known if known is not None else kind == "index" and table in _TABLES
