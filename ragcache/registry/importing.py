"""Affixes out of a bundle into a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ragcache.errors import AffixTooLargeError, BundleError, InputError, StoreDamagedError
from ragcache.registry.bundle import Entry, Maker, TransferReport
from ragcache.registry.bundle_reader import Reader, open_bundle
from ragcache.registry.disk import DiskTier
from ragcache.registry.key import DEFAULT_NAMESPACE, AffixKey
from ragcache.registry.names import NameTable, check_name, normalise_text
from ragcache.registry.page_io import Payload
from ragcache.registry.portable import unpack
from ragcache.registry.shelf import Shelf


def import_affixes(
    shelf: Shelf,
    names: NameTable,
    path: Path,
    maker: Maker,
    *,
    namespace: str = DEFAULT_NAMESPACE,
    replace_names: bool = False,
    digest: str | None = None,
) -> TransferReport:
    """Store what the bundle at `path` holds in `namespace`: pages first, then names.

    All of it is read and checked before anything is stored; pages that are there stay as they are. `digest`
    is what the exporting side printed: with it, nobody can have changed the file on its way. Raises
    `BundleError` for a file that is damaged, has another digest, or is not `maker`'s, `InputError` for a name
    that stands for another text here unless `replace_names`, `AffixTooLargeError` for more than fits under
    the limits, and what writing raises in `Registry.put`.
    """
    shelf.writable_index()
    namespace = check_name(namespace, "namespace")
    texts, report = _survey(path, shelf, maker)
    if digest is not None and digest.strip().lower() != report.digest:
        raise BundleError(f"{path} has the digest {report.digest}, not the one given; copy it once more.")
    _check_room(shelf, namespace, report.size_bytes)
    replaced = _other_texts(names, texts, namespace)
    if replaced and not replace_names:
        raise InputError(
            f"{', '.join(map(repr, replaced))} stands for another text here; remove it first, or replace it."
        )
    present, evicted = _store(shelf, names, path, maker, namespace, report.digest)
    for name, text in texts.items():
        names.register(name, text, namespace)
    return replace(report, present=present, evicted=evicted, replaced=replaced)


def _survey(path: Path, shelf: Shelf, maker: Maker) -> tuple[dict[str, str], TransferReport]:
    """The texts by name, and what there is to store; every byte is checked."""
    texts: dict[str, str] = {}
    sizes = []
    with open_bundle(path, shelf.store.cipher) as reader:
        for entry, _, _, size_bytes in _checked(reader, shelf, maker):
            name, text = check_name(entry.name), normalise_text(entry.text)
            if texts.setdefault(name, text) != text:
                raise reader.error(f"holds two texts called {name!r}")
            sizes.append(size_bytes)
        return texts, TransferReport(tuple(texts), len(sizes), sum(sizes), reader.digest)


def _checked(reader: Reader, shelf: Shelf, maker: Maker) -> Iterator[tuple[Entry, AffixKey, Payload, int]]:
    """Every page with its affix and key, and about how large its file will be here."""
    _check_maker(reader, Maker(reader.head.model, reader.head.tokenizer), maker)
    for entry, data in reader.pages(shelf.limits.limit_bytes):
        try:
            key, payload = unpack(repr(entry.name), data)
        except StoreDamagedError as error:
            raise reader.error(f"holds a damaged page ({error})") from error
        _check_maker(reader, Maker(key.model, key.tokenizer), maker)
        yield entry, key, payload, shelf.files.size_bytes(len(data))


def _store(
    shelf: Shelf, names: NameTable, path: Path, maker: Maker, namespace: str, digest: str
) -> tuple[int, int]:
    """Store the pages; how many were there already, and how many are gone again."""
    disk, present = DiskTier(shelf), 0
    files: list[Path] = []
    with open_bundle(path, shelf.store.cipher) as reader:
        for entry, key, payload, _ in _checked(reader, shelf, maker):
            own = replace(key, namespace=namespace)
            files.append(shelf.store.page_path(disk.digest(own)))
            present += files[-1].exists()
            disk.keep(own, payload, names.text_digest(normalise_text(entry.text), namespace))
        if reader.digest != digest:
            raise reader.error("was changed while it was read")
    return present, sum(not file.exists() for file in files)


def _check_maker(reader: Reader, found: Maker, wanted: Maker) -> None:
    if found != wanted:
        what = "model" if found.model != wanted.model else "tokenizer"
        theirs, ours = getattr(found, what), getattr(wanted, what)
        raise BundleError(
            f"{reader.label} was made for another {what} ({theirs[:16]}, not {ours[:16]}), so its pages mean "
            "nothing here; name the right model, or export from a store with pages of this one."
        )


def _check_room(shelf: Shelf, namespace: str, size_bytes: int) -> None:
    for limit in shelf.limits.of(namespace):
        if size_bytes > limit.most_bytes:
            raise AffixTooLargeError(
                f"the pages need {size_bytes} bytes, {limit.called} is {limit.most_bytes}; {limit.remedy}, "
                "or export fewer names at a time."
            )


def _other_texts(names: NameTable, texts: Mapping[str, str], namespace: str) -> tuple[str, ...]:
    """Names that stand for another text in the store."""
    known = {record.name: record.text for record in names.names(namespace)}
    return tuple(name for name, text in texts.items() if known.get(name, text) != text)
