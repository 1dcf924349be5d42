"""Between the local disk and the shared tier: downloads on a miss, uploads in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragcache.errors import RegistryError
from ragcache.page import Page
from ragcache.registry.disk import DiskTier
from ragcache.registry.encryption import Cipher
from ragcache.registry.files import page_of
from ragcache.registry.key import AffixKey
from ragcache.registry.records import Counters, Usage
from ragcache.registry.remote import Remote, RemoteStats, RemoteTier
from ragcache.registry.uploads import Uploads

_log = logging.getLogger(__name__)


class SharedPages:
    """What the registry asks after its own disk. Thread-safe; nothing here fails a request."""

    def __init__(self, remote: Remote, disk: DiskTier, cipher: Cipher | None, most_bytes: int) -> None:
        self._counters = Counters()
        self._disk = disk
        self._tier = RemoteTier(remote, cipher, most_bytes, self._counters)
        self._uploads = Uploads(
            self._upload, self._drop, most=remote.queue, retries=remote.retries, retry_s=remote.retry_s
        )
        self._close_s = remote.close_s
        self._flights = Flights()

    def get(self, key: AffixKey, text_digest: Callable[[], str]) -> tuple[str, Page] | None:
        """Digest and page of `key`, now on the local disk too where there is room; None on a miss."""
        with self._flights.turn(key) as waited:
            found = self._disk.get(key) if waited else None
            payload = self._tier.get(key) if found is None else None
            if payload is None:
                return found
            try:
                return self._disk.keep(key, payload, text_digest())
            except RegistryError as error:
                _log.warning("remote page is in use without being stored: %s", error)
            digest = self._disk.digest(key)
            return digest, page_of(digest, key, payload)

    def offer(self, key: AffixKey) -> None:
        """Upload the local page of `key` when there is time; never waits."""
        self._uploads.offer(key)

    def stats(self) -> RemoteStats:
        """See `RemoteStats`."""
        kinds = ("hits", "misses", "failures", "damaged", "uploaded", "dropped", "replaced")
        return RemoteStats(**{kind: self._counters[f"remote_{kind}"] for kind in kinds})

    def usage(self) -> Usage:
        """See `RemoteTier.usage`."""
        return self._tier.usage()

    def close(self) -> None:
        """Finish uploads, but wait only so long."""
        left = self._uploads.close(self._close_s)
        if left:
            _log.warning("%d pages were not uploaded: the remote took too long.", left)

    def _upload(self, key: AffixKey) -> bool:
        """Whether the page is up there, or gone from here; False when it is worth another try."""
        try:
            payload = self._disk.read(key)
            if payload is not None:
                self._tier.put(key, payload)
        except RegistryError as error:
            _log.warning("a page was not uploaded: %s", error)
            self._counters.add("remote_failures")
            return False
        return True

    def _drop(self, key: AffixKey) -> None:
        self._counters.add("remote_dropped")


class Flights:
    """One holder per key at a time among the threads of this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._turns: dict[AffixKey, tuple[threading.Lock, int]] = {}

    @contextmanager
    def turn(self, key: AffixKey) -> Iterator[bool]:
        """Hold the key; True when another thread had it first."""
        with self._guard:
            lock, users = self._turns.get(key, (threading.Lock(), 0))
            self._turns[key] = lock, users + 1
        with lock:
            try:
                yield users > 0
            finally:
                with self._guard:
                    _, users = self._turns.pop(key)
                    if users > 1:
                        self._turns[key] = lock, users - 1
