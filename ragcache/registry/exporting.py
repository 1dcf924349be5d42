"""Affixes out of a store into a bundle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ragcache.durable import Bytes, replace_file
from ragcache.errors import BundleError, InputError
from ragcache.registry.bundle import (
    SEALED_NAME,
    Entry,
    Head,
    Maker,
    TransferReport,
    block,
    json_block,
    signed,
)
from ragcache.registry.disk import library_version
from ragcache.registry.key import DEFAULT_NAMESPACE, AffixKey
from ragcache.registry.page_io import Payload
from ragcache.registry.payload import payload_parts
from ragcache.registry.portable import key_of, pack
from ragcache.registry.records import AffixRecord, PageRow
from ragcache.registry.shelf import Shelf


def export_affixes(shelf: Shelf, records: Sequence[AffixRecord], path: Path, maker: Maker) -> TransferReport:
    """Write the texts of `records` and `maker`'s pages of them to `path`, whole or not at all.

    The file says nothing of namespaces. From an encrypted store it is sealed under the same key. Raises
    `InputError` for no name, or one without a page, `BundleError` when `path` cannot be written, and
    `RegistryError`.
    """
    if not records:
        raise InputError("there is no name to export; give at least one.")
    pages = _pages_of(shelf, records, maker)
    sizes: list[int] = []

    def blocks() -> Iterator[Bytes]:
        yield from json_block(Head(maker.model, maker.tokenizer, len(pages), library_version()))
        for record in records:
            yield from json_block(Entry(record.name, record.text, len(pages[record.name])))
            for digest in pages[record.name]:
                header, tensors = pack(*_read(shelf, digest))
                sizes.append(len(header) + sum(tensor.nbytes for tensor in tensors.values()))
                yield from block(payload_parts(header, tensors), sizes[-1])

    seen, cipher = hashlib.sha256(), shelf.store.cipher
    parts = signed(blocks(), seen)
    _write(path, cipher.seal(SEALED_NAME, parts) if cipher else parts)
    return TransferReport(tuple(pages), len(sizes), sum(sizes), seen.hexdigest())


def _pages_of(shelf: Shelf, records: Sequence[AffixRecord], maker: Maker) -> dict[str, list[str]]:
    """Digests of `maker`'s pages by name, at least one for each."""
    found: dict[str, list[str]] = {}
    with shelf.store.translated():
        rows = [row for row in shelf.rows() if row.model == maker.model]
        for record in records:
            mine = [row for row in rows if row.text_digest == record.text_digest]
            found[record.name] = sorted(
                row.digest for row in mine if _tokenizer(shelf, row) == maker.tokenizer
            )
            if not found[record.name]:
                raise InputError(
                    f"affix {record.name!r} has no page of this model here; build it first: "
                    f"ragcache affix warm {record.name!r}"
                )
    return found


def _tokenizer(shelf: Shelf, row: PageRow) -> str | None:
    try:
        tokenizer: str = json.loads(shelf.files.info(row.digest).key)["tokenizer"]
        return tokenizer
    except FileNotFoundError:
        return None


def _read(shelf: Shelf, digest: str) -> tuple[AffixKey, Payload]:
    """The page as it leaves the store. Raises `RegistryError`, also when it was evicted meanwhile."""
    with shelf.store.translated():
        payload = shelf.files.read(digest)
    return replace(key_of(digest, payload), namespace=DEFAULT_NAMESPACE), payload


def _write(path: Path, parts: Iterable[Bytes]) -> None:
    try:
        replace_file(path, parts)
    except OSError as error:
        raise BundleError(
            f"{path} cannot be written ({error.strerror}); name a file in a folder of yours, with room."
        ) from error
