"""Between the local disk and the shared tier: downloads on a miss, uploads in the background."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ragcache.errors import RegistryError
from ragcache.page import Page
from ragcache.registry.disk import DiskTier
from ragcache.registry.encryption import Cipher
from ragcache.registry.files import page_of
from ragcache.registry.key import AffixKey
from ragcache.registry.records import Counters
from ragcache.registry.remote import Remote, RemoteStats, RemoteTier

_log = logging.getLogger(__name__)


class SharedPages:
    """What the registry asks after its own disk. Thread-safe; nothing here fails a request."""

    def __init__(self, remote: Remote, disk: DiskTier, cipher: Cipher | None, most_bytes: int) -> None:
        self._counters = Counters()
        self._disk = disk
        self._tier = RemoteTier(remote, cipher, most_bytes, self._counters)
        self._uploads = Uploads(self._upload, remote.queue)
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
        if not self._uploads.offer(key):
            self._counters.add("remote_dropped")

    def stats(self) -> RemoteStats:
        """See `RemoteStats`."""
        kinds = ("hits", "misses", "failures", "damaged", "uploaded", "dropped")
        return RemoteStats(**{kind: self._counters[f"remote_{kind}"] for kind in kinds})

    def close(self) -> None:
        """Finish uploads, but wait only so long."""
        left = self._uploads.close(self._close_s)
        for _ in range(left):
            self._counters.add("remote_dropped")
        if left:
            _log.warning("%d pages were not uploaded: the remote took too long.", left)

    def _upload(self, key: AffixKey) -> None:
        try:
            payload = self._disk.read(key)
            if payload is not None:
                self._tier.put(key, payload)
        except RegistryError as error:
            _log.warning("a page was not uploaded: %s", error)
            self._counters.add("remote_dropped")
            self._counters.add("remote_failures")


class Uploads:
    """A bounded queue and the thread that works it off; the thread starts with the first upload."""

    def __init__(self, upload: Callable[[AffixKey], None], most: int) -> None:
        self._upload = upload
        self._waiting: queue.Queue[AffixKey | None] = queue.Queue(most)
        self._stopped = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def offer(self, key: AffixKey) -> bool:
        """Queue `key`; False when the queue is full or closed."""
        try:
            if self._stopped.is_set():
                return False
            self._waiting.put_nowait(key)
        except queue.Full:
            return False
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="ragcache-upload", daemon=True)
                self._thread.start()
        return True

    def close(self, wait_s: float) -> int:
        """Wait for what is queued, at most `wait_s`; the number of uploads given up."""
        if self._thread is None:
            return 0
        until_s = time.monotonic() + wait_s
        with suppress(queue.Full):
            self._waiting.put(None, timeout=wait_s)
        self._thread.join(max(0.0, until_s - time.monotonic()))
        self._stopped.set()
        if not self._thread.is_alive():
            return 0
        return 1 + sum(key is not None for key in list(self._waiting.queue))

    def _work(self) -> None:
        while not self._stopped.is_set() and (key := self._waiting.get()) is not None:
            self._upload(key)


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
