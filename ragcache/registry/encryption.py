"""Encryption at rest: AES-256-GCM over chunks, under a key of the user's.

STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizar 2015): every sealed blob has a random salt, from
which HKDF-SHA256 derives a key of its own; the nonce of a chunk is its number and whether it is the last.
So chunks cannot be reordered, dropped or cut off, and no nonce is ever used twice. The blob's name is
associated data: a file under another name is refused.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragcache.errors import ConfigError, MissingDependencyError, StoreDamagedError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
KEY_VARIABLE, KEY_FILE_VARIABLE = "RAGCACHE_STORE_KEY", "RAGCACHE_STORE_KEY_FILE"
SCHEME = "aes-256-gcm"
CHUNK_BYTES = 256 * 1024
_MAGIC = b"RAGSEAL1"
_SALT_BYTES = 32
_TAG_BYTES = 16
_START_BYTES = len(_MAGIC) + _SALT_BYTES
HEAD_BYTES = _START_BYTES + CHUNK_BYTES + _TAG_BYTES
"""So much of a sealed blob opens its first chunk."""


class Cipher:
    """Seals and opens named blobs under one 32-byte key.

    Raises `ConfigError` for a key of another length, `MissingDependencyError` without `cryptography`.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ConfigError(f"an encryption key has {KEY_BYTES} bytes, not {len(key)}.")
        self._key = key
        self._gcm: Any = _library()[0]

    def sealed_bytes(self, plain_bytes: int) -> int:
        """Size of a sealed blob of `plain_bytes`."""
        return _START_BYTES + plain_bytes + _TAG_BYTES * max(1, -(-plain_bytes // CHUNK_BYTES))

    def seal(self, name: str, parts: Iterable[bytes | memoryview]) -> Iterator[bytes]:
        """The sealed blob of the joined `parts`, piece by piece."""
        salt = secrets.token_bytes(_SALT_BYTES)
        gcm, bound = self._chunk_cipher(salt), name.encode()
        yield _MAGIC + salt
        for number, (chunk, last) in enumerate(_marked_last(_chunks(parts))):
            yield gcm.encrypt(_nonce(number, last), chunk, bound)

    def open(self, name: str, read: Callable[[int], bytes]) -> Iterator[bytes]:
        """The plain chunks of what `read(bytes)` hands out until it returns nothing.

        Raises `StoreDamagedError` at the first chunk that this key and name did not seal.
        """
        start = read(_START_BYTES)
        if len(start) != _START_BYTES or not start.startswith(_MAGIC):
            raise StoreDamagedError(f"{name} is not an encrypted file of this format.")
        gcm, bound = self._chunk_cipher(start[len(_MAGIC) :]), name.encode()
        sealed = iter(lambda: read(CHUNK_BYTES + _TAG_BYTES), b"")
        number = -1
        for number, (chunk, last) in enumerate(_marked_last(sealed)):
            yield self._open_chunk(gcm, name, _nonce(number, last), chunk, bound)
        if number < 0:
            raise StoreDamagedError(f"{name} was cut off.")

    def open_head(self, name: str, head: bytes) -> bytes:
        """The first chunk of a blob of which only the first `HEAD_BYTES` are at hand. Raises as `open`."""
        if len(head) < HEAD_BYTES:
            return self.open_whole(name, head)
        if not head.startswith(_MAGIC):
            raise StoreDamagedError(f"{name} is not an encrypted file of this format.")
        gcm = self._chunk_cipher(head[len(_MAGIC) : _START_BYTES])
        chunk = head[_START_BYTES:HEAD_BYTES]
        try:
            return self._open_chunk(gcm, name, _nonce(0, False), chunk, name.encode())
        except StoreDamagedError:  # a blob that ends exactly here
            return self._open_chunk(gcm, name, _nonce(0, True), chunk, name.encode())

    def seal_whole(self, name: str, data: bytes) -> bytes:
        """`seal` in one piece."""
        return b"".join(self.seal(name, [data]))

    def open_whole(self, name: str, data: bytes) -> bytes:
        """`open` in one piece. Raises `StoreDamagedError`."""
        return b"".join(self.open(name, _reader(data)))

    def derive(self, purpose: str) -> bytes:
        """32 bytes for another purpose, from which the key cannot be computed."""
        return _derive(self._key, b"ragcache", purpose.encode())

    def _chunk_cipher(self, salt: bytes) -> AESGCM:
        cipher: AESGCM = self._gcm(_derive(self._key, salt, b"ragcache blob"))
        return cipher

    @staticmethod
    def _open_chunk(gcm: AESGCM, name: str, nonce: bytes, chunk: bytes, bound: bytes) -> bytes:
        try:
            return gcm.decrypt(nonce, chunk, bound)
        except _library()[1] as error:
            raise StoreDamagedError(
                f"{name} was changed, swapped, or sealed with another encryption key."
            ) from error


def is_sealed(head: bytes) -> bool:
    """Whether the first bytes of a blob are those of a sealed one."""
    return head.startswith(_MAGIC)


def key_from_environment(environ: Mapping[str, str] | None = None) -> bytes | None:
    """The key of `RAGCACHE_STORE_KEY` (hex or base64), or of the file `RAGCACHE_STORE_KEY_FILE` names.

    None when neither is set. Raises `ConfigError` for both, for an unreadable file or for no key.
    """
    environ = os.environ if environ is None else environ
    text, file = environ.get(KEY_VARIABLE), environ.get(KEY_FILE_VARIABLE)
    if text and file:
        raise ConfigError(f"{KEY_VARIABLE} and {KEY_FILE_VARIABLE} are both set; unset one.")
    if text:
        return parse_key(text.encode(), KEY_VARIABLE)
    if not file:
        return None
    try:
        return parse_key(Path(file).read_bytes(), file)
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{KEY_FILE_VARIABLE}: {file} cannot be read ({error}).") from error


def parse_key(text: bytes, source: str) -> bytes:
    """32 bytes from 64 hex digits, base64, or the bytes themselves. Raises `ConfigError` (never the key)."""
    stripped = text.strip()
    for decode in (binascii.unhexlify, _base64, bytes):
        try:
            key = decode(text if decode is bytes else stripped)
        except ValueError:
            continue
        if len(key) == KEY_BYTES:
            return key
    raise ConfigError(
        f"{source} holds no encryption key: give 32 random bytes in hex or base64 (openssl rand -hex 32)."
    )


def _base64(text: bytes) -> bytes:
    padded = text.translate(bytes.maketrans(b"-_", b"+/")) + b"=" * (-len(text) % 4)
    return base64.b64decode(padded, validate=True)


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _chunks(parts: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """The joined parts in pieces of `CHUNK_BYTES`, the last one shorter; one empty piece for nothing."""
    held = bytearray()
    empty = True
    for part in parts:
        view = memoryview(part)
        taken = 0
        while taken < len(view):
            more = view[taken : taken + CHUNK_BYTES - len(held)]
            held += more
            taken += len(more)
            if len(held) == CHUNK_BYTES:
                yield bytes(held)
                held.clear()
                empty = False
    if held or empty:
        yield bytes(held)


def _marked_last(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    held = next(pieces, None)
    while held is not None:
        following = next(pieces, None)
        yield held, following is None
        held = following


def _reader(data: bytes) -> Callable[[int], bytes]:
    view = memoryview(data)
    taken = 0

    def read(size: int) -> bytes:
        nonlocal taken
        piece = bytes(view[taken : taken + size])
        taken += len(piece)
        return piece

    return read


def _derive(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=purpose).derive(key)


def _library() -> tuple[Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingDependencyError(
            "an encrypted store needs cryptography: pip install 'ragcache-dllm[encryption]'"
        ) from error
    return AESGCM, InvalidTag
