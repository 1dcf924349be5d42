"""What is put around a payload that leaves this machine, and taken off one that arrives."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Protocol

from ragcache.errors import StoreDamagedError
from ragcache.registry.encryption import HEAD_BYTES, Cipher

_TAG_BYTES = 32


class Envelope(Protocol):
    """Binds an object to its name. Raises `StoreDamagedError` for one that was not wrapped under it."""

    @property
    def head_bytes(self) -> int:
        """So many bytes of an object are enough for `head`."""
        ...

    def size_bytes(self, plain_bytes: int) -> int:
        """Size of the object around so many bytes."""
        ...

    def wrap(self, name: str, parts: Iterable[bytes | memoryview]) -> bytes:
        """The object of the joined parts."""
        ...

    def head(self, name: str, data: bytes) -> bytes:
        """The first plain bytes, from the first `head_bytes` of an object; not proved yet."""
        ...

    def unwrap(self, name: str, data: bytes) -> bytes:
        """The plain bytes of a whole object, proved to be those that were wrapped."""
        ...


class Tagged:
    """In the clear, followed by a keyed BLAKE2b (RFC 7693) of name and bytes."""

    head_bytes = HEAD_BYTES

    def __init__(self, key: bytes) -> None:
        self._key = key

    def size_bytes(self, plain_bytes: int) -> int:
        """See `Envelope`."""
        return plain_bytes + _TAG_BYTES

    def wrap(self, name: str, parts: Iterable[bytes | memoryview]) -> bytes:
        """See `Envelope`."""
        held = list(parts)
        return b"".join([*held, self._tag(name, held)])

    def head(self, name: str, data: bytes) -> bytes:
        """See `Envelope`."""
        return data

    def unwrap(self, name: str, data: bytes) -> bytes:
        """See `Envelope`."""
        plain, tag = data[:-_TAG_BYTES], data[-_TAG_BYTES:]
        if not hmac.compare_digest(tag, self._tag(name, [plain])):
            raise StoreDamagedError(f"{name} was changed, swapped, or made with another secret.")
        return plain

    def _tag(self, name: str, parts: Iterable[bytes | memoryview]) -> bytes:
        keyed = hashlib.blake2b(name.encode() + b"\0", key=self._key, digest_size=_TAG_BYTES)
        for part in parts:
            keyed.update(part)
        return keyed.digest()


class Sealed:
    """Encrypted under the store's key."""

    head_bytes = HEAD_BYTES

    def __init__(self, cipher: Cipher) -> None:
        self._cipher = cipher

    def size_bytes(self, plain_bytes: int) -> int:
        """See `Envelope`."""
        return self._cipher.sealed_bytes(plain_bytes)

    def wrap(self, name: str, parts: Iterable[bytes | memoryview]) -> bytes:
        """See `Envelope`."""
        return b"".join(self._cipher.seal(name, parts))

    def head(self, name: str, data: bytes) -> bytes:
        """See `Envelope`."""
        return self._cipher.open_head(name, data)

    def unwrap(self, name: str, data: bytes) -> bytes:
        """See `Envelope`."""
        return self._cipher.open_whole(name, data)
