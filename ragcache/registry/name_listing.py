"""Every name of a store at once: what did not change since it was last looked at is not read again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ragcache.errors import StoreDamagedError
from ragcache.registry.payload import Stamp, stamp_of
from ragcache.registry.records import AffixRecord

Names = Mapping[str, tuple[AffixRecord, ...]]
SETTLED_NS = 2 * 10**9


class NameListing:
    """The records in `folder`, each file read by `read`. Thread-safe.

    Every request asks for all names, so with thousands of them a look at each file would cost more than the
    rest. Names change by renaming or removing a file, which sets the folder's time: while that stands still,
    so does the listing. A time set just now may stand still for another change within a tick of the file
    system's clock, and is not trusted yet; where nothing `settles` (a network's clock) none ever is.
    """

    def __init__(
        self, folder: Path, read: Callable[[Path], AffixRecord | None], *, settles: bool = True
    ) -> None:
        self._folder, self._read, self._settles = folder, read, settles
        self._files: dict[Path, tuple[Stamp, AffixRecord | None]] = {}
        self._listed: tuple[int, Names] | None = None

    def by_namespace(self) -> Names:
        """The records of every namespace, sorted by name."""
        now_ns, changed_ns = time.time_ns(), self._changed_ns()
        listed = self._listed
        if listed is not None and listed[0] == changed_ns:
            return listed[1]
        names = self._scan()
        settled = self._settles and changed_ns is not None and changed_ns < now_ns - SETTLED_NS
        self._listed = (changed_ns, names) if settled and changed_ns is not None else None
        return names

    def _scan(self) -> Names:
        files = {path: self._file(path) for path in self._folder.glob("*.json")}
        self._files = {path: file for path, file in files.items() if file is not None}
        found: dict[str, list[AffixRecord]] = {}
        records = (record for _, record in self._files.values() if record is not None)
        for record in sorted(records, key=lambda record: record.name):
            found.setdefault(record.namespace, []).append(record)
        return {namespace: tuple(records) for namespace, records in found.items()}

    def _file(self, path: Path) -> tuple[Stamp, AffixRecord | None] | None:
        try:
            stamp = stamp_of(path)
        except FileNotFoundError:
            return None
        except (OSError, StoreDamagedError):
            self._read(path)  # which sets it aside
            return None
        known = self._files.get(path)
        return known if known is not None and known[0] == stamp else (stamp, self._read(path))

    def _changed_ns(self) -> int | None:
        try:
            return self._folder.stat().st_mtime_ns
        except OSError:  # deleted under an open store
            return None
