"""The registry: names, pages and their store behind one face."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ragcache.closing import Closing
from ragcache.errors import InputError
from ragcache.page import Page
from ragcache.registry.codecs import codec_for
from ragcache.registry.device import DeviceTier
from ragcache.registry.disk import DiskTier
from ragcache.registry.encryption import Cipher, key_from_environment
from ragcache.registry.eviction import EvictionPolicy
from ragcache.registry.kept_store import KeptStore
from ragcache.registry.key import AffixKey
from ragcache.registry.records import RegistryStats, StoreUsage, Usage
from ragcache.registry.remote import Remote, RemoteStats
from ragcache.registry.room import Limits, check_bytes
from ragcache.registry.settings import RegistrySettings
from ragcache.registry.sharing import SharedPages
from ragcache.registry.tier import MemoryTier
from ragcache.registry.usage import usage_of

GIB = 2**30
MIB = 2**20


class _Found(NamedTuple):
    """A page, and what loading it took; None unless it came from the disk."""

    digest: str
    page: Page
    load_s: float | None


class Registry(KeptStore, Closing):
    """Pages on disk, found by `AffixKey`, and texts, found by name. Threads and processes may share it.

    `limit_bytes` bounds the page files exactly, `quotas` those of single namespaces (0 stores none of
    theirs), `memory_bytes` the pages kept open in this process (0 keeps none). `eviction` (GDSF) says
    which pages go first. Close it, or use it as a context manager.

    `remote` is the address of a shared object store (fsspec), asked after the disk. `encryption_key` holds
    32 bytes (default: what `RAGCACHE_STORE_KEY` or `RAGCACHE_STORE_KEY_FILE` say); with one the store, and
    what it uploads, is encrypted.

    Raises `ConfigError` for a limit, address or key that cannot be used; `StoreUnavailableError`,
    `StoreVersionError`, `StoreKeyError` or `StoreDamagedError` when the folder cannot be used. A folder that
    cannot be written to is opened read only.
    """

    def __init__(
        self,
        path: Path,
        *,
        limit_bytes: int = 8 * GIB,
        memory_bytes: int = 512 * MIB,
        eviction: EvictionPolicy | None = None,
        quotas: Mapping[str, int] | None = None,
        remote: str | Remote | None = None,
        encryption_key: bytes | None = None,
    ) -> None:
        limits = Limits(limit_bytes, dict(quotas or {}))
        check_bytes("memory_bytes", memory_bytes, least=0)
        self.settings = RegistrySettings.of(
            Path(path), limit_bytes, memory_bytes, limits.quotas, eviction, remote, encryption_key
        )
        self._memory = MemoryTier(memory_bytes)
        key = key_from_environment() if encryption_key is None else encryption_key
        cipher = None if key is None else Cipher(key)
        super().__init__(Path(path), limits, eviction, cipher, self._memory.discard)
        self._disk = DiskTier(self._shelf)
        self._devices: list[weakref.ref[DeviceTier]] = []
        self._shared: SharedPages | None = None
        if remote:
            self._shared = SharedPages(_remote(remote), self._disk, cipher, limit_bytes)

    def get(self, key: AffixKey, *, count: bool = True, text: str = "") -> Page | None:
        """The page of `key`, or None. A page that fails its checks is quarantined and missed, never raised.

        `count=False` is for a second look: it leaves hits, misses and the order of use alone, and asks no
        remote. `text` is the affix's, by which `remove` finds a page that came from there. Raises
        `ConfigError` for an unknown codec.
        """
        self._check_open()
        found = self._find(key, text, far=count)
        if count:
            self._counters.add("misses" if found is None else "hits")
        if found is None:
            return None
        if count:
            self._shelf.touch(found.digest, found.load_s)
        return found.page

    def warm(self, keys: Sequence[AffixKey], texts: Sequence[str] = ()) -> int:
        """Bring the pages of `keys` into memory, from the disk or the remote; how many are there now.

        Counts neither hits nor misses, only what loading took. `texts` are as in `get`, in the order of
        `keys`. Raises `ConfigError` for an unknown codec.
        """
        self._check_open()
        there = 0
        for key, text in zip(keys, texts or [""] * len(keys), strict=True):
            found = self._find(key, text, far=True)
            there += found is not None
            if found is not None and found.load_s is not None:
                self._shelf.touch(found.digest, found.load_s, hits=0)
        return there

    def _find(self, key: AffixKey, text: str, *, far: bool) -> _Found | None:
        codec_for(key.codec)
        found = self._memory.get(key)
        if found is not None:
            return _Found(*found, load_s=None)
        started = time.perf_counter()
        found = self._disk.get(key)
        load_s = time.perf_counter() - started if found is not None else None
        if found is None and far and self._shared is not None:
            found = self._shared.get(key, lambda: self.text_digest(text, key.namespace) if text else "")
        if found is None:
            return None
        self._memory.put(key, *found)
        return _Found(*found, load_s=load_s)

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
        if self._shared is not None:
            self._shared.offer(key)
        return stored

    def discard(self, key: AffixKey) -> None:
        """Drop the local page of `key`, if it is there. Raises what writing raises in `put`."""
        self._check_open()
        self._disk.discard(self._disk.digest(key))

    @contextmanager
    def building(self, key: AffixKey) -> Iterator[None]:
        """Single flight: one builder of `key` at a time over all threads and processes.

        Look again inside (`get(key, count=False)`): whoever waited finds the page. Do not nest it for
        the same key. Without effect in a read-only store.
        """
        self._check_open()
        with self._store.building(key.digest(self._store.secret)):
            yield

    def stats(self) -> RegistryStats:
        """Size of the store, and this registry's counters since it was opened."""
        self._check_open()
        with self._store.translated():
            usage = self._shelf.usage()
        events = ("hits", "misses", "stored", "evicted", "quarantined")
        return RegistryStats(
            entries=usage.entries,
            size_bytes=usage.size_bytes,
            limit_bytes=self._shelf.limits.limit_bytes,
            **{event: self._counters[event] for event in events},
            saved_s=self._counters.saved_s,
        )

    def remote_stats(self) -> RemoteStats | None:
        """What was done with the remote since the registry was opened; None without one."""
        return self._shared.stats() if self._shared is not None else None

    def usage(self) -> StoreUsage:
        """What is in the store by tier and namespace, and what it saved over its life, by all processes."""
        self._check_open()
        devices = [tier.size_bytes for tier in (held() for held in list(self._devices)) if tier is not None]
        faster = {"device": sum(devices)} if devices else {}
        with self._store.translated():
            return usage_of(self._shelf, {**faster, "memory": self._memory.size_bytes})

    def remote_usage(self) -> Usage | None:
        """Pages in the remote and their bytes, by listing it, which takes long; None without one.

        Raises `StoreUnavailableError`.
        """
        return self._shared.usage() if self._shared is not None else None

    def count_device(self, tier: DeviceTier) -> None:
        """Count the bytes of an engine's `tier` in `usage` for as long as it lives."""
        self._devices.append(weakref.ref(tier))

    def close(self) -> None:
        """Write the last uses and let go of files; pages handed out stay usable. May be called again."""
        if not self._closed:
            self._closed = True
            if self._shared is not None:
                self._shared.close()
            self._shelf.close()
            self._memory.clear()


def _remote(given: str | Remote) -> Remote:
    return given if isinstance(given, Remote) else Remote(given)
