"""The shared tier: pages that other machines with the same model stored, in an object store.

    URL/secret              32 random bytes, made by the first machine (see `remote_secret`)
    URL/pages/ab/{digest}   one object per page, created once, never removed; overwritten only if damaged

A local digest is an HMAC under the local store's own secret, so here pages are called by another one, under
a secret that all machines share. Nothing that comes from here is trusted: names are only ever computed, the
header is read first and bounded, key, tag, token ids and digests are checked, and what passes is written to
the local disk anew, under a header of this machine's.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ragcache.errors import ConfigError, RegistryError, StoreDamagedError, StoreUnavailableError
from ragcache.registry.breaker import CircuitBreaker
from ragcache.registry.encryption import Cipher
from ragcache.registry.envelope import Envelope, Sealed, Tagged
from ragcache.registry.key import AffixKey
from ragcache.registry.objects import ObjectStore
from ragcache.registry.page_io import Payload
from ragcache.registry.payload import payload_parts, read_info_from
from ragcache.registry.portable import pack, unpack
from ragcache.registry.records import LARGEST, Counters, Usage

MIB = 2**20
SECRET_VARIABLE = "RAGCACHE_REMOTE_SECRET"
SECRET_BYTES = 32
_LEAST_SECRET = 16
_MOST_DAMAGED = 1024
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Remote:
    """Where the shared tier is, and how patient we are with it.

    A call may take `timeout_s`, and its bytes at `floor_bytes_s` on top. After `failures` in a row the remote
    is left alone and tried once every `reset_s`. At most `queue` uploads wait; one that fails is tried
    `retries` times more, first after `retry_s`, then after twice as long each time. Closing works off what
    waits without pauses, and takes `close_s` at most. `clock` gives seconds that never go back.
    """

    url: str
    timeout_s: float = 2.0
    floor_bytes_s: float = 20.0 * MIB
    failures: int = 3
    reset_s: float = 30.0
    queue: int = 64
    retries: int = 3
    retry_s: float = 10.0
    close_s: float = 10.0
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        numbers = (self.timeout_s, self.floor_bytes_s, self.failures, self.reset_s, self.queue, self.retry_s)
        if not all(number > 0 for number in numbers) or self.close_s < 0 or self.retries < 0:
            raise ConfigError(f"{self}: times, rates and counts of a remote must be above 0.")


@dataclass(frozen=True)
class RemoteStats:
    """What this registry did with the shared tier since it was opened.

    `failures` are calls without an answer, `damaged` objects that failed a check, `replaced` those of them
    that were uploaded anew, `dropped` uploads that were given up: the queue was full, the remote did not take
    them however often they were tried, or closing came first.
    """

    hits: int
    misses: int
    failures: int
    damaged: int
    uploaded: int
    dropped: int
    replaced: int = 0


class RemoteTier:
    """Pages of the shared tier. Thread-safe; `get` never raises for what the remote does or holds."""

    def __init__(self, remote: Remote, cipher: Cipher | None, most_bytes: int, counters: Counters) -> None:
        breaker = CircuitBreaker(remote.failures, remote.reset_s, remote.clock)
        self.objects = ObjectStore(remote.url, remote.timeout_s, remote.floor_bytes_s, breaker)
        self._most_bytes = most_bytes
        self._counters = counters
        self._given = cipher.derive("remote") if cipher else secret_from_environment()
        self._secret: bytes | None = self._given
        self._cipher = cipher
        self._agreeing = threading.Lock()
        self._damaged: set[str] = set()

    def get(self, key: AffixKey) -> Payload | None:
        """The payload of `key`, every byte of it checked, or None."""
        try:
            payload = self._fetch(key)
        except StoreDamagedError as error:
            _log.warning("remote page: %s", error)
            self._counters.add("remote_damaged")
            self._note_damaged(key)
            payload = None
        except RegistryError as error:
            _log.warning("remote: %s", error)
            self._counters.add("remote_failures")
            payload = None
        self._counters.add("remote_misses" if payload is None else "remote_hits")
        return payload

    def put(self, key: AffixKey, payload: Payload) -> None:
        """Create the object of `key`, or replace it where `get` found it damaged; else leave it as it is.

        Raises `StoreUnavailableError`.
        """
        secret = self._agreed_secret()
        digest = key.digest(secret)
        data = self._envelope(secret).wrap(digest, payload_parts(*pack(key, payload)))
        damaged = digest in self._damaged
        if self.objects.create(_object_name(digest), data, replace=damaged):
            self._counters.add("remote_uploaded")
        if damaged:
            self._damaged.discard(digest)
            self._counters.add("remote_replaced")

    def usage(self) -> Usage:
        """Number and bytes of the page objects, by listing them all. Raises `StoreUnavailableError`."""
        sizes = self.objects.sizes("pages")
        return Usage(len(sizes), sum(sizes))

    def _note_damaged(self, key: AffixKey) -> None:
        """The next upload of this page replaces what was found; a flood of damage is not remembered whole."""
        if self._secret is not None and len(self._damaged) < _MOST_DAMAGED:
            self._damaged.add(key.digest(self._secret))

    def _fetch(self, key: AffixKey) -> Payload | None:
        secret = self._agreed_secret()
        digest = key.digest(secret)
        name, envelope = _object_name(digest), self._envelope(secret)
        head = self.objects.read(name, 0, envelope.head_bytes)
        if head is None:
            return None
        size_bytes = envelope.size_bytes(self._expected_bytes(digest, key, envelope.head(digest, head)))
        data = head
        if size_bytes > len(head):
            # one byte more than there should be: an object with something behind it is refused
            rest = self.objects.read(name, len(head), size_bytes + 1)
            if rest is None:
                raise StoreDamagedError(f"{digest} vanished while it was read.")
            data += rest
        if len(data) != size_bytes:
            raise StoreDamagedError(f"{digest} has {len(data)} bytes or more, its header says {size_bytes}.")
        return unpack(digest, envelope.unwrap(digest, data), key)[1]

    def _expected_bytes(self, digest: str, key: AffixKey, head: bytes) -> int:
        if read_info_from(digest, head).key != key.canonical():
            raise StoreDamagedError(f"{digest} holds the page of another key.")
        size_bytes = _payload_bytes(digest, head)
        if size_bytes > self._most_bytes:
            raise StoreDamagedError(
                f"{digest} claims {size_bytes} bytes, over the limit of {self._most_bytes}."
            )
        return size_bytes

    def _envelope(self, secret: bytes) -> Envelope:
        return Sealed(self._cipher) if self._cipher else Tagged(secret)

    def _agreed_secret(self) -> bytes:
        """The secret that all machines share; made now, if nobody did. Raises `StoreUnavailableError`."""
        with self._agreeing:
            if self._secret is None:
                found = self.objects.read("secret", 0, SECRET_BYTES + 1)
                if found is None:
                    self.objects.create("secret", secrets.token_bytes(SECRET_BYTES))
                    found = self.objects.read("secret", 0, SECRET_BYTES + 1)  # whoever came first counts
                if found is None or len(found) != SECRET_BYTES:
                    raise StoreUnavailableError(
                        f"the object `secret` in {self.objects.label} is damaged, so no page can be found; "
                        f"restore it, set {SECRET_VARIABLE}, or choose another address."
                    )
                self._secret = found
            return self._secret


def secret_from_environment() -> bytes | None:
    """The shared secret made from `RAGCACHE_REMOTE_SECRET`; None when it is not set. Raises `ConfigError`."""
    text = os.environ.get(SECRET_VARIABLE, "")
    if not text:
        return None
    if len(text) < _LEAST_SECRET:
        raise ConfigError(
            f"{SECRET_VARIABLE} is shorter than {_LEAST_SECRET} characters; use openssl rand -hex 32."
        )
    return hashlib.sha256(b"ragcache remote\0" + text.encode("utf-8", "surrogateescape")).digest()


def _object_name(digest: str) -> str:
    return f"pages/{digest[:2]}/{digest}"


def _payload_bytes(digest: str, head: bytes) -> int:
    """The size that a payload's header promises. Raises `StoreDamagedError`."""
    try:
        (length,) = struct.unpack_from("<Q", head)
        entries = json.loads(head[8 : 8 + length])
        ends = [entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"]
        if not all(type(end) is int and 0 <= end < LARGEST for end in ends):
            raise ValueError("offsets are no sizes")
        size_bytes: int = 8 + length + max(ends)
        return size_bytes
    except (
        struct.error,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        RecursionError,
    ) as error:
        raise StoreDamagedError(f"{digest}: unreadable header ({error}).") from error
