"""A bundle: named texts and their pages in one file, for another machine with the same model.

    RAGBNDL1     8 bytes
    block        JSON: format, library, model and tokenizer fingerprint, number of affixes
    for each affix
      block      JSON: name, text, number of pages
      block      a payload, for each page
    SHA-256      32 bytes, of everything before

A block is its length, 8 bytes little-endian, and so many bytes. From an encrypted store the whole is sealed
under the store's key. Written and read in one go, one page in memory at a time. Nothing in it is a path, and
nothing is trusted: lengths are bounded by the file's, JSON is read field by field, payloads are data.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ragcache.durable import Bytes

FORMAT = 1
SEALED_NAME = "ragcache bundle"
MAGIC = b"RAGBNDL1"
LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Head:
    """Whose pages a bundle holds: fingerprints of the model and of its tokenizer."""

    model: str
    tokenizer: str
    affixes: int
    library: str
    format: int = FORMAT


@dataclass(frozen=True)
class Entry:
    """One affix of a bundle and the number of its pages."""

    name: str
    text: str
    pages: int


@dataclass(frozen=True)
class Maker:
    """Whose pages are moved: fingerprints of a model and of its tokenizer, as in `AffixKey`."""

    model: str
    tokenizer: str


@dataclass(frozen=True)
class TransferReport:
    """Names, pages and bytes of a bundle, and its SHA-256 in hex.

    After an import `present` pages were there already, `evicted` ones are gone again because the store is too
    small, and `replaced` names stood for another text before.
    """

    names: tuple[str, ...]
    pages: int
    size_bytes: int
    digest: str
    present: int = 0
    evicted: int = 0
    replaced: tuple[str, ...] = ()


def block(parts: Iterable[Bytes], size_bytes: int) -> Iterator[Bytes]:
    """A block of `size_bytes`, which is what the parts have together."""
    yield LENGTH.pack(size_bytes)
    yield from parts


def json_block(value: Head | Entry) -> Iterator[Bytes]:
    """A block of the value's fields."""
    data = json.dumps(asdict(value)).encode()
    return block([data], len(data))


def signed(blocks: Iterable[Bytes], digest: Any) -> Iterator[Bytes]:
    """The whole bundle of `blocks`; `digest`, a fresh SHA-256, has seen all but itself at the end."""
    digest.update(MAGIC)
    yield MAGIC
    for part in blocks:
        digest.update(part)
        yield part
    yield digest.digest()
