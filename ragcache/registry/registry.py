"""The registry: names, pages and their store behind one face."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from ragcache.errors import InputError, StoreUnavailableError
from ragcache.page import Page
from ragcache.registry.codecs import codec_for
from ragcache.registry.disk import DiskTier
from ragcache.registry.eviction import EvictionPolicy
from ragcache.registry.garbage import collect_garbage
from ragcache.registry.key import AffixKey
from ragcache.registry.leases import PinKind
from ragcache.registry.names import NameTable, check_name, normalise_text
from ragcache.registry.records import (
    AffixRecord,
    Counters,
    GcReport,
    PageRow,
    RegistryStats,
    StoreUsage,
    VerifyReport,
)
from ragcache.registry.room import Limits, check_bytes
from ragcache.registry.shelf import Shelf
from ragcache.registry.store import Store
from ragcache.registry.tier import MemoryTier
from ragcache.registry.upkeep import reconcile, verify
from ragcache.registry.usage import usage_of

GIB = 2**30
MIB = 2**20


class Registry:
    """Pages on disk, found by `AffixKey`, and texts, found by name. Threads and processes may share it.

    `limit_bytes` bounds the page files exactly, `quotas` those of single namespaces (0 stores none of
    theirs), `memory_bytes` the pages kept open in this process (0 keeps none). `eviction` (GDSF) says
    which pages go first. Close it, or use it as a context manager.

    Raises `ConfigError` for a limit out of range; `StoreUnavailableError`, `StoreVersionError` or
    `StoreDamagedError` when the folder cannot be used. A folder that cannot be written to is opened
    read only.
    """

    def __init__(
        self,
        path: Path,
        *,
        limit_bytes: int = 8 * GIB,
        memory_bytes: int = 512 * MIB,
        eviction: EvictionPolicy | None = None,
        quotas: Mapping[str, int] | None = None,
    ) -> None:
        limits = Limits(limit_bytes, dict(quotas or {}))
        check_bytes("memory_bytes", memory_bytes, least=0)
        self._counters = Counters()
        self._memory = MemoryTier(memory_bytes)
        self._store = Store(Path(path))
        self._names = NameTable(self._store)
        self._shelf = Shelf(self._store, limits, eviction, self._counters, self._memory.discard)
        self._disk = DiskTier(self._shelf)
        self._closed = False
        reconcile(self._shelf)

    def get(self, key: AffixKey, *, count: bool = True) -> Page | None:
        """The page of `key`, or None. A page that fails its checks is quarantined and missed, never raised.

        `count=False` leaves hits, misses and the order of use alone. Raises `ConfigError` for an
        unknown codec.
        """
        self._check_open()
        codec_for(key.codec)
        found = self._memory.get(key)
        load_s = None
        if found is None:
            started = time.perf_counter()
            found = self._disk.get(key)
            load_s = time.perf_counter() - started
            if found is not None:
                self._memory.put(key, *found)
        if count:
            self._counters.add("misses" if found is None else "hits")
        if found is None:
            return None
        if count:
            self._shelf.touch(found[0], load_s)
        return found[1]

    def put(self, key: AffixKey, page: Page, *, encode_s: float = 0.0, text_digest: str = "") -> Page:
        """Store `page`, evicting others if need be, and return it as a later `get` will.

        A page already stored stays as it is. `encode_s` is what encoding took, `text_digest` the
        `AffixRecord.text_digest` of a registered text. On any error nothing is left behind.

        Raises `InputError` when page and key disagree, `AffixTooLargeError`, `StorePinnedError`,
        `StoreFullError`, `StoreReadOnlyError`, `StoreUnavailableError` or `StoreDamagedError`.
        """
        self._check_open()
        if not 0 <= encode_s < math.inf:
            raise InputError(f"encode_s is {encode_s}; give the seconds that encoding took, 0 or more.")
        digest, stored = self._disk.put(key, page, encode_s, text_digest)
        self._memory.put(key, digest, stored)
        return stored

    @contextmanager
    def building(self, key: AffixKey) -> Iterator[None]:
        """Single flight: one builder of `key` at a time over all threads and processes.

        Look again inside (`get(key, count=False)`): whoever waited finds the page. Do not nest it for
        the same key. Without effect in a read-only store.
        """
        self._check_open()
        with self._store.building(key.digest(self._store.secret)):
            yield

    def register(
        self, name: str, text: str, *, namespace: str = "default", source: str | None = None
    ) -> AffixRecord:
        """Point `name` at `text`, normalised; the pages of an earlier text stay until evicted.

        `source` names what keeps the text up to date (a folder); None leaves it as it was.

        Raises `InputError` for an unusable name or an empty text, and what writing raises in `put`.
        """
        self._check_open()
        return self._names.register(name, text, namespace, source)

    def lookup(self, name: str, namespace: str = "default") -> AffixRecord:
        """The record of `name`. Raises `UnknownAffixError` naming close ones."""
        self._check_open()
        return self._names.lookup(name, namespace)

    def names(self, namespace: str = "default") -> tuple[AffixRecord, ...]:
        """All records of a namespace, sorted by name."""
        self._check_open()
        return self._names.names(namespace)

    def remove(self, name: str, namespace: str = "default") -> AffixRecord:
        """Forget `name`, and drop the pages of its text unless another name has that text.

        Raises `UnknownAffixError`, and what writing raises in `put`.
        """
        self._check_open()
        self._shelf.writable_index()
        with self._store.exclusive():
            record = self._names.remove(name, namespace)
            self.drop_unnamed(record.text_digest, namespace)
        return record

    def drop_unnamed(self, text_digest: str, namespace: str = "default") -> None:
        """Drop the pages of a text unless a name still has it. Raises what writing raises in `put`."""
        self._check_open()
        index = self._shelf.writable_index()
        with self._store.exclusive():
            if all(other.text_digest != text_digest for other in self._names.names(namespace)):
                index.leases.drop(text_digest)
                for row in index.rows():
                    if row.text_digest == text_digest:
                        self._disk.discard(row.digest)

    def pin(
        self,
        target: str | AffixKey,
        kind: PinKind = "hard",
        *,
        seconds: float = 3600.0,
        namespace: str = "default",
    ) -> None:
        """Keep the page of a key, or all pages of the text a name has now, also those built later.

        A hard pin is never evicted, a soft one last. It ends after `seconds`, whatever becomes of this
        process; pinning again makes it last longer, never shorter. A page removed by name is gone all
        the same. Raises `ConfigError`, `UnknownAffixError`, and what writing raises in `put`.
        """
        self._check_open()
        leases = self._shelf.writable_index().leases
        subject = self._subject(target, namespace)
        with self._store.exclusive():
            leases.sweep()
            leases.take(subject, kind, seconds)

    def unpin(self, target: str | AffixKey, *, namespace: str = "default") -> bool:
        """Lift the pins of `target`, whoever set them; whether there were any. Raises as `pin` does."""
        self._check_open()
        leases = self._shelf.writable_index().leases
        subject = self._subject(target, namespace)
        with self._store.exclusive():
            return leases.drop(subject)

    def collect_garbage(self, *, unnamed: bool = False, dry_run: bool = False) -> GcReport:
        """Remove ended leases, leftovers of killed processes and quarantined files, or only count them.

        `unnamed`: also pages of texts that no name points at; pinned ones stay. Raises what writing raises
        in `put`.
        """
        self._check_open()
        return collect_garbage(self._shelf, self._names, unnamed=unnamed, dry_run=dry_run)

    def text_digest(self, text: str, namespace: str = "default") -> str:
        """The `AffixRecord.text_digest` that registering `text` would give. Raises `InputError`."""
        return self._names.text_digest(normalise_text(text), check_name(namespace, "namespace"))

    def pages(self, text_digest: str | None = None) -> tuple[PageRow, ...]:
        """One row per page on disk, most recently used first; of one text, or of all."""
        self._check_open()
        with self._store.translated():
            rows = self._shelf.rows()
        mine = (row for row in rows if text_digest is None or row.text_digest == text_digest)
        return tuple(sorted(mine, key=lambda row: row.use_order, reverse=True))

    def verify(self) -> VerifyReport:
        """Read every byte of every page; damaged ones are quarantined, lost rows restored or dropped."""
        self._check_open()
        with self._store.translated():
            return verify(self._shelf)

    def stats(self) -> RegistryStats:
        """Size of the store, and this registry's counters since it was opened."""
        self._check_open()
        with self._store.translated():
            usage = self._shelf.usage()
        return RegistryStats(
            entries=usage.entries,
            size_bytes=usage.size_bytes,
            limit_bytes=self._shelf.limits.limit_bytes,
            hits=self._counters["hits"],
            misses=self._counters["misses"],
            stored=self._counters["stored"],
            evicted=self._counters["evicted"],
            quarantined=self._counters["quarantined"],
            saved_s=self._counters.saved_s,
        )

    def usage(self) -> StoreUsage:
        """What is in the store by tier and namespace, and what it saved over its life, by all processes."""
        self._check_open()
        with self._store.translated():
            return usage_of(self._shelf, self._memory.size_bytes)

    def close(self) -> None:
        """Write the last uses and let go of files; pages handed out stay usable. May be called again."""
        if not self._closed:
            self._closed = True
            self._shelf.close()
            self._memory.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _subject(self, target: str | AffixKey, namespace: str) -> str:
        if isinstance(target, AffixKey):
            return target.digest(self._store.secret)
        return self._names.lookup(target, namespace).text_digest

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailableError(f"the registry of {self._store.path} was closed; open it again.")
