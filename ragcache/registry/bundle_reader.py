"""Reading a bundle that anybody may have written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragcache.errors import AffixTooLargeError, BundleError, StoreDamagedError
from ragcache.registry.bundle import FORMAT, LENGTH, MAGIC, SEALED_NAME, Entry, Head
from ragcache.registry.encryption import Cipher, is_sealed

_DIGEST_BYTES = hashlib.sha256().digest_size
_MOST_JSON_BYTES = 64 * 2**20


class Reader:
    """Reads an open bundle from its beginning to its end: `head`, then `pages`, once each.

    Methods raise `BundleError` as soon as something is not as `signed` writes it; `pages` at its end, too,
    when the digest is not that of what was read. So look at all of it before you use any of it.
    """

    def __init__(self, label: str, read: Callable[[int], bytes], size_bytes: int) -> None:
        self.label, self._read, self._left = label, read, size_bytes
        self._seen = hashlib.sha256()
        if self._take(len(MAGIC)) != MAGIC:
            raise self.error("is no file that `ragcache registry export` wrote")
        self.head = self._json(Head)
        if self.head.format != FORMAT:
            raise self.error(f"has format {self.head.format}, not {FORMAT}", "update ragcache")

    @property
    def digest(self) -> str:
        """SHA-256 of what was read so far, in hex; after `pages` that of the bundle."""
        return self._seen.hexdigest()

    def pages(self, most_bytes: int) -> Iterator[tuple[Entry, bytes]]:
        """Every page's payload, with the affix it belongs to.

        Raises `AffixTooLargeError` for a page of more than `most_bytes`, too.
        """
        for _ in range(self.head.affixes):
            entry = self._json(Entry)
            if entry.pages < 1:
                raise self.error(f"holds no page of {entry.name!r}")
            for _ in range(entry.pages):
                size_bytes = self._length()
                if most_bytes < size_bytes <= self._left:
                    raise AffixTooLargeError(
                        f"{self.label}: a page of {entry.name!r} has {size_bytes} bytes, the store's limit "
                        f"is {most_bytes}; raise limit_bytes."
                    )
                yield entry, self._take(size_bytes)
        seen = self._seen.digest()
        if self._take(_DIGEST_BYTES, signed=False) != seen:
            raise self.error("was changed, or damaged on its way: its digest is another one")
        if self._raw(1):
            raise self.error("has something behind its end")

    def _json(self, kind: type[Any]) -> Any:
        what, size_bytes = kind.__name__.lower(), self._length()
        if size_bytes > _MOST_JSON_BYTES:
            raise self.error(f"claims a {what} of {size_bytes} bytes")
        try:
            found = kind(**json.loads(self._take(size_bytes)))
        except (ValueError, TypeError, RecursionError) as error:
            if isinstance(error, BundleError):
                raise
            raise self.error(f"holds an unreadable {what} ({error})") from error
        for name, field in kind.__dataclass_fields__.items():
            if type(getattr(found, name)).__name__ != field.type:
                raise self.error(f"holds a {what} whose {name} is no {field.type}")
        return found

    def _length(self) -> int:
        size_bytes: int
        (size_bytes,) = LENGTH.unpack(self._take(LENGTH.size))
        return size_bytes

    def _take(self, size_bytes: int, *, signed: bool = True) -> bytes:
        data = self._raw(size_bytes) if size_bytes <= self._left else b""
        if len(data) != size_bytes:
            raise self.error("was cut off")
        self._left -= size_bytes
        if signed:
            self._seen.update(data)
        return data

    def _raw(self, size_bytes: int) -> bytes:
        try:
            return self._read(size_bytes)
        except StoreDamagedError as error:
            raise self.error(f"cannot be decrypted ({error})") from error
        except OSError as error:
            raise self.error(f"cannot be read ({error})") from error

    def error(self, what: str, remedy: str = "export it again, or copy it once more") -> BundleError:
        """What to raise for a bundle that `what` is said of."""
        return BundleError(f"{self.label} {what}; {remedy}.")


@contextmanager
def open_bundle(path: Path, cipher: Cipher | None) -> Iterator[Reader]:
    """Read the bundle at `path`; a sealed one with `cipher`. Raises `BundleError`."""
    try:
        if not os.path.isfile(path):  # unlike pathlib's, False for a path that cannot be
            raise BundleError(f"{path} is no file; name one that `ragcache registry export` wrote.")
        file = path.open("rb")
    except OSError as error:
        raise BundleError(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    with file:
        size_bytes = os.fstat(file.fileno()).st_size
        read: Callable[[int], bytes] = file.read
        if is_sealed(file.peek()):
            if cipher is None:
                raise BundleError(f"{path} is encrypted; import it into a store that has the same key.")
            read = _joined(cipher.open(SEALED_NAME, file.read))
        yield Reader(str(path), read, size_bytes)


def _joined(pieces: Iterator[bytes]) -> Callable[[int], bytes]:
    """`read` over `pieces`: exactly so many bytes, fewer only at the end."""
    held = bytearray()

    def read(size_bytes: int) -> bytes:
        while len(held) < size_bytes:
            piece = next(pieces, None)
            if piece is None:
                break
            held.extend(piece)
        taken = bytes(held[:size_bytes])
        del held[:size_bytes]
        return taken

    return read
