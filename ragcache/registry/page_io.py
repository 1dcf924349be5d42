"""How page files are read and written: mapped, read whole, or encrypted."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from torch import Tensor

from ragcache.registry import payload
from ragcache.registry.encryption import HEAD_BYTES, Cipher
from ragcache.registry.payload import PayloadInfo, parse_payload, payload_parts, read_info_from, stamp_of

READ_AHEAD_FROM_BYTES = 8 * 2**20
_STRIDE_BYTES = 2**20
Payload = tuple[PayloadInfo, Tensor, dict[str, Tensor]]


class PageIO(Protocol):
    """Reads and writes one page file; errors are those of `payload.read_payload` and `write_payload`."""

    def size_bytes(self, payload_bytes: int) -> int:
        """Size of the file that holds a payload of so many bytes."""
        ...

    def read_info(self, path: Path) -> PayloadInfo:
        """The header only."""
        ...

    def read(self, path: Path, *, check_digests: bool) -> Payload:
        """Header, `token_ids` `[n]` int64 and the codec's tensors."""
        ...

    def write(self, path: Path, header: bytes, tensors: Mapping[str, Tensor]) -> None:
        """A new file, through to the disk."""
        ...


class MappedPages:
    """Safetensors files, mapped: nothing is copied until it is used."""

    def size_bytes(self, payload_bytes: int) -> int:
        """See `PageIO`."""
        return payload_bytes

    def read_info(self, path: Path) -> PayloadInfo:
        """See `PageIO`."""
        return payload.read_info(path)

    def read(self, path: Path, *, check_digests: bool) -> Payload:
        """See `PageIO`."""
        if check_digests:  # it will be read from end to end
            read_ahead(path)
        return payload.read_payload(path, check_digests=check_digests)

    def write(self, path: Path, header: bytes, tensors: Mapping[str, Tensor]) -> None:
        """See `PageIO`."""
        payload.write_payload(path, header, tensors)


def read_ahead(path: Path) -> None:
    """Have the kernel fetch a large file in the background, so that layer i + 1 comes in while i is read."""
    size_bytes = stamp_of(path).size_bytes
    if size_bytes < READ_AHEAD_FROM_BYTES or not hasattr(os, "posix_fadvise"):
        return

    def advise() -> None:
        with suppress(OSError), path.open("rb") as file:
            for start in range(0, size_bytes, _STRIDE_BYTES):  # the kernel takes only so much at once
                os.posix_fadvise(file.fileno(), start, _STRIDE_BYTES, os.POSIX_FADV_WILLNEED)

    threading.Thread(target=advise, name="ragcache-read-ahead", daemon=True).start()


class WholePages(MappedPages):
    """The same files, read whole: on a network file system every page fault is a round trip."""

    def read(self, path: Path, *, check_digests: bool) -> Payload:
        """See `PageIO`."""
        stamp_of(path)
        return parse_payload(path.name, path.read_bytes(), check_digests=check_digests)


class SealedPages:
    """Encrypted files. Each is bound to its digest, which is the stem of its name."""

    def __init__(self, cipher: Cipher) -> None:
        self._cipher = cipher

    def size_bytes(self, payload_bytes: int) -> int:
        """See `PageIO`."""
        return self._cipher.sealed_bytes(payload_bytes)

    def read_info(self, path: Path) -> PayloadInfo:
        """See `PageIO`."""
        stamp_of(path)
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        return read_info_from(path.name, self._cipher.open_head(path.stem, head))

    def read(self, path: Path, *, check_digests: bool) -> Payload:
        """See `PageIO`. Decryption proves every byte, so digests are not computed again."""
        stamp_of(path)
        with path.open("rb") as file:
            plain = b"".join(self._cipher.open(path.stem, file.read))
        return parse_payload(path.name, plain, check_digests=False)

    def write(self, path: Path, header: bytes, tensors: Mapping[str, Tensor]) -> None:
        """See `PageIO`."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for piece in self._cipher.seal(path.stem, payload_parts(header, tensors)):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
