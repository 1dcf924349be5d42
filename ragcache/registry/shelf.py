"""Page files and their rows, changed together under one exact byte limit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from torch import Tensor

from ragcache.errors import RegistryError, StoreDamagedError, StoreFullError, StoreReadOnlyError
from ragcache.registry.eviction import EvictionPolicy
from ragcache.registry.files import PageFiles
from ragcache.registry.index import Index
from ragcache.registry.page_io import MappedPages, PageIO, SealedPages, WholePages
from ragcache.registry.payload import Stamp, stamp_of
from ragcache.registry.records import Counters, PageRow, Usage
from ragcache.registry.room import Limits
from ragcache.registry.store import Store
from ragcache.registry.uses import PendingUses

_log = logging.getLogger(__name__)


class Shelf:
    """The pages of one store by digest. In a store that is read only, `index` is None.

    The row is written last and the file removed first: a row without a file is noticed and dropped,
    and a file without a row gets it back. `on_drop` is told the digest of every page that leaves.
    """

    def __init__(
        self,
        store: Store,
        limits: Limits,
        eviction: EvictionPolicy | None,
        counters: Counters,
        on_drop: Callable[[str], None],
    ) -> None:
        self.store = store
        self.limits = limits
        self.files = PageFiles(store, io_for(store))
        self.index: Index | None = None
        self._counters = counters
        self._on_drop = on_drop
        self._uses = PendingUses()
        if not store.read_only:
            try:
                with store.exclusive():
                    self.index = Index(store.index, eviction)
            except StoreFullError as error:  # what is stored can still be read
                _log.warning("%s Until then the store is read only.", error)
                store.read_only = True

    def writable_index(self) -> Index:
        """The index. Raises `StoreReadOnlyError` when nothing may be changed."""
        if self.index is None:
            raise StoreReadOnlyError(
                f"{self.store.path} cannot be written to; check its permissions and its disk."
            )
        return self.index

    def touch(self, digest: str, load_s: float | None, hits: int = 1) -> None:
        """Note a hit and what loading took, None from memory; rows are brought up to date now and then."""
        if self._uses.add(digest, load_s, hits):
            self.flush()

    def flush(self) -> None:
        """Write noted hits to the rows. They only order evictions, so failing to is no error."""
        uses = self._uses.take()
        if uses and self.index is not None:
            with suppress(RegistryError):
                self._counters.save(self.index.use(uses))

    def rows(self) -> list[PageRow]:
        """One row per page; from the headers when the store is read only."""
        self.flush()
        if self.index is not None:
            return self.index.rows()
        rows = []
        for digest in self.files.scan():
            with suppress(StoreDamagedError, OSError):
                rows.append(self.files.row(digest))
        return rows

    def usage(self) -> Usage:
        """Number of pages and bytes of their files."""
        self.flush()
        if self.index is not None:
            return self.index.usage()
        sizes = self.files.scan()
        return Usage(len(sizes), sum(sizes.values()))

    def add(self, row: PageRow, header: bytes, tensors: Mapping[str, Tensor]) -> None:
        """Make room, write file, then row; on failure neither is left. The caller holds the lock."""
        index = self.writable_index()
        self.make_room(row.size_bytes, row.namespace)
        try:
            self.files.write(row.digest, header, tensors)
            index.add_built(row)
        except Exception:
            with suppress(OSError):
                self.files.remove(row.digest)
            raise
        self._counters.add("stored")

    def adopt(self, digest: str) -> None:
        """Give a file its row back, if it has none. Raises RegistryError."""
        if self.index is None or self.index.row(digest) is not None:
            return
        with self.store.exclusive():
            try:
                row = self.files.row(digest)
            except FileNotFoundError:
                return  # evicted since it was opened
            if self.index.row(digest) is None:
                self.index.add(row)
                self.make_room(0, row.namespace)

    def make_room(self, needed_bytes: int, namespace: str | None = None) -> None:
        """Evict until `needed_bytes` more of `namespace` fit; None: until all limits are kept.

        The caller holds the lock. Raises `StorePinnedError` or `StoreFullError`, having evicted nothing.
        """
        index = self.writable_index()
        self.flush()
        with index.transaction():
            victims = self.limits.victims(index, needed_bytes, namespace)
            for victim in victims:
                self.files.remove(victim.row.digest)
                index.evict(victim.row, victim.scope)
        for victim in victims:
            self._on_drop(victim.row.digest)
        self._counters.add("evicted", len(victims))

    def remove(self, digest: str) -> None:
        """Remove file and row, if they are there. The caller holds the lock."""
        index = self.writable_index()
        self.files.remove(digest)
        index.delete(digest)
        self._on_drop(digest)

    def quarantine(self, digest: str, stamp: Stamp | None, reason: StoreDamagedError) -> None:
        """Set the damaged file of `stamp` (None: not even a file) aside. Never raises."""
        _log.warning("damaged page: %s", reason)
        if self.index is None:
            return
        path = self.store.page_path(digest)
        try:
            with self.store.exclusive():
                if _stamp_or_none(self.store, digest) != stamp:
                    return  # dealt with, and perhaps built anew, meanwhile
                self.store.set_aside(path)
                self.remove(digest)
                self._counters.add("quarantined")
        except RegistryError as error:
            _log.warning("page %s stays where it is: %s", digest, error)

    def close(self) -> None:
        """Write what is held back."""
        self.flush()
        if self.index is not None:
            self.index.close()


def io_for(store: Store) -> PageIO:
    """How the pages of `store` are read: decrypted, read whole over a network, else mapped."""
    if store.cipher is not None:
        return SealedPages(store.cipher)
    return WholePages() if store.network else MappedPages()


def _stamp_or_none(store: Store, digest: str) -> Stamp | None:
    try:
        return stamp_of(store.page_path(digest))
    except StoreDamagedError:
        return None
