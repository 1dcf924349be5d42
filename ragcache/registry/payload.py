"""The payload file: one immutable safetensors file per page.

The header is padded with spaces so that the data starts on a 4096-byte boundary. The tensors lie in
the order `token_ids`, then layer by layer, so one layer is one range of the file. safetensors itself
notices truncation but not a flipped bit, hence the digest of every tensor in the header.
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import load
from torch import Tensor

from ragcache.errors import ConfigError, StoreDamagedError
from ragcache.registry.key import FORMAT_VERSION

ALIGNMENT_BYTES = 4096
TOKEN_IDS = "token_ids"
_DTYPES = {
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.float8_e4m3fn: "F8_E4M3",
}


@dataclass(frozen=True)
class PayloadInfo:
    """What a header says about its page, beside the tensors. `key` is `AffixKey.canonical()`."""

    key: str
    created_s: float
    encode_s: float
    text_digest: str
    library: str


@dataclass(frozen=True)
class Stamp:
    """Identity of a file on disk; a file put in its place has another."""

    inode: int
    modified_ns: int
    size_bytes: int


def stamp_of(path: Path) -> Stamp:
    """The stamp of a regular file. Raises `StoreDamagedError` for anything else, OSError if absent."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise StoreDamagedError(f"{path.name} is not a regular file.")
    return Stamp(status.st_ino, status.st_mtime_ns, status.st_size)


def build_header(tensors: Mapping[str, Tensor], info: PayloadInfo) -> bytes:
    """Everything before the data: length and JSON of `tensors` in their order, padded to the alignment."""
    entries: dict[str, Any] = {}
    offset = 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _DTYPES:
            raise ConfigError(f"{name} is {tensor.dtype}, not a payload type; use float32 or bfloat16.")
        end = offset + tensor.numel() * tensor.element_size()
        entries[name] = {
            "dtype": _DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    entries["__metadata__"] = {
        "format": str(FORMAT_VERSION),
        "library": info.library,
        "key": info.key,
        "created_s": repr(info.created_s),
        "encode_s": repr(info.encode_s),
        "text_digest": info.text_digest,
        "digests": json.dumps({name: _digest(tensor) for name, tensor in tensors.items()}),
    }
    text = json.dumps(entries, separators=(",", ":")).encode()
    padded = -(-(8 + len(text)) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return struct.pack("<Q", padded - 8) + text.ljust(padded - 8)


def write_payload(path: Path, header: bytes, tensors: Mapping[str, Tensor]) -> None:
    """Write a new file, readable by its owner only, through to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for part in payload_parts(header, tensors):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def read_info(path: Path) -> PayloadInfo:
    """The header only. Raises `StoreDamagedError`, or OSError when the file cannot be read."""
    stamp_of(path)
    try:
        with safe_open(path, framework="pt") as file:
            return _info(file.metadata())
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise StoreDamagedError(f"{path.name}: unreadable header ({error}).") from error


def read_payload(path: Path, *, check_digests: bool) -> tuple[PayloadInfo, Tensor, dict[str, Tensor]]:
    """Map the file: its header, `token_ids` `[n]` int64, and the codec's tensors, none of them copied.

    They stay usable after the file was removed. Raises `StoreDamagedError`, or OSError when the file
    cannot be read.
    """
    stamp_of(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreDamagedError(f"{path.name}: unreadable payload ({error}).") from error
    return _checked(path.name, metadata, tensors, check_digests)


def read_info_from(name: str, head: bytes) -> PayloadInfo:
    """The header, of which `head` holds at least all: the first bytes of a payload.

    Raises `StoreDamagedError`.
    """
    try:
        (length,) = struct.unpack_from("<Q", head)
        if length > len(head) - 8:
            raise StoreDamagedError(f"{name}: a header of {length} bytes is oversized.")
        return _info(json.loads(head[8 : 8 + length])["__metadata__"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreDamagedError(f"{name}: unreadable header ({error}).") from error


def parse_payload(
    name: str, data: bytes, *, check_digests: bool
) -> tuple[PayloadInfo, Tensor, dict[str, Tensor]]:
    """As `read_payload`, from the whole file in memory. Raises `StoreDamagedError`."""
    try:
        tensors = load(data)  # checks the header's offsets against the data
        (length,) = struct.unpack_from("<Q", data)
        metadata = json.loads(data[8 : 8 + length])["__metadata__"]
    except (SafetensorError, struct.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreDamagedError(f"{name}: unreadable payload ({error}).") from error
    return _checked(name, metadata, tensors, check_digests)


def payload_parts(header: bytes, tensors: Mapping[str, Tensor]) -> Iterator[bytes | memoryview]:
    """The payload's bytes in order, without copying a tensor."""
    yield header
    for tensor in tensors.values():
        yield _bytes(tensor).data


def _checked(
    name: str, metadata: Mapping[str, str], tensors: dict[str, Tensor], check_digests: bool
) -> tuple[PayloadInfo, Tensor, dict[str, Tensor]]:
    try:
        info = _info(metadata)
        digests = json.loads(metadata["digests"])
        if digests.keys() != tensors.keys():
            raise StoreDamagedError(f"{name}: tensors were added or taken away.")
        for tensor_name, tensor in tensors.items() if check_digests else ():
            if _digest(tensor) != digests[tensor_name]:
                raise StoreDamagedError(f"{name}: the bytes of {tensor_name} were changed.")
        return info, tensors.pop(TOKEN_IDS), tensors
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreDamagedError(f"{name}: unreadable payload ({error}).") from error


def _info(metadata: Mapping[str, str]) -> PayloadInfo:
    if metadata["format"] != str(FORMAT_VERSION):
        raise StoreDamagedError(f"payload format {metadata['format']!r}, expected {FORMAT_VERSION}.")
    created_s, encode_s = float(metadata["created_s"]), float(metadata["encode_s"])
    if not math.isfinite(created_s) or not 0 <= encode_s < math.inf:
        raise StoreDamagedError(f"impossible times: created at {created_s}, encoded in {encode_s} s.")
    return PayloadInfo(
        key=metadata["key"],
        created_s=created_s,
        encode_s=encode_s,
        text_digest=metadata["text_digest"],
        library=metadata["library"],
    )


def _bytes(tensor: Tensor) -> NDArray[np.uint8]:
    flat: NDArray[np.uint8] = tensor.reshape(-1).view(torch.uint8).numpy()
    return flat


def _digest(tensor: Tensor) -> str:
    return xxhash.xxh3_128_hexdigest(_bytes(tensor).data)
