"""Keeping affixes in step with a folder of documents: new chunks in, changed ones anew, lost ones out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ragcache.engine import BaseEngine
from ragcache.errors import InputError, RegistryError, UnknownAffixError
from ragcache.pipelines.rag.chunks import chunk
from ragcache.pipelines.rag.documents import Document, load_documents
from ragcache.registry import DEFAULT_NAMESPACE, AffixRecord, Registry, normalise_text

BATCH = 8  # chunks that are encoded in one forward


@dataclass(frozen=True)
class Changes:
    """The `documents` of a folder, the `texts` of their chunks by the names they get, and the `records` that
    have these names or are the folder's own. Names are those of `namespace`.
    """

    source: str
    documents: tuple[Document, ...]
    texts: Mapping[str, str]
    records: Mapping[str, AffixRecord]
    warnings: tuple[str, ...] = ()
    namespace: str = DEFAULT_NAMESPACE

    @property
    def added(self) -> tuple[str, ...]:
        """Names that are new."""
        return tuple(name for name in self.texts if name not in self.records)

    @property
    def changed(self) -> tuple[str, ...]:
        """Names whose text is another now."""
        return tuple(n for n in self.texts if n in self.records and self.records[n].text != self.texts[n])

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Names whose text is the same."""
        return tuple(n for n in self.texts if n in self.records and self.records[n].text == self.texts[n])

    @property
    def removed(self) -> tuple[str, ...]:
        """Names whose chunk is gone."""
        return tuple(name for name in self.records if name not in self.texts)


def find_changes(
    folder: Path, registry: Registry, *, prefix: str = "", namespace: str = DEFAULT_NAMESPACE
) -> Changes:
    """Compare the chunks of `folder` with the names of `namespace` that a sync of it made; writes nothing.

    Texts are compared by content: touching a file changes nothing. Names are those of the chunks after
    `prefix`. Raises `DocumentError` for a folder without documents, so that one that is not mounted does
    not lose its affixes, and `InputError` when a name belongs to another folder.
    """
    source = f"{folder.resolve()}:{prefix}"
    loaded = load_documents([folder])
    documents = tuple(Document(prefix + document.name, document.text) for document in loaded.documents)
    texts = {piece.name: normalise_text(piece.text) for doc in documents for piece in chunk(doc)}
    known = {record.name: record for record in registry.names(namespace)}
    for name in texts.keys() & known.keys():
        if known[name].source not in ("", source):
            raise InputError(
                f"affix {name!r} was made from {known[name].source.rpartition(':')[0]}; "
                "give one of the folders a --prefix"
            )
    mine = {name: record for name, record in known.items() if record.source == source or name in texts}
    return Changes(source, documents, texts, mine, loaded.warnings, namespace)


def apply_changes(
    changes: Changes,
    registry: Registry,
    engine: BaseEngine | None = None,
    *,
    on_name: Callable[[str], None] = lambda name: None,
) -> int:
    """Make the names as the folder is; the number of pages that had to be encoded.

    With an `engine` of that namespace the pages of new texts are there before their names point at them, so
    no request waits for one; pages whose text no name has any more are dropped. Interrupted, it can simply be
    run again. Raises the engine's and the registry's errors.
    """
    built = 0
    names = list(changes.texts)
    for start in range(0, len(names), BATCH):
        batch = names[start : start + BATCH]
        if engine is not None:
            built += _warm(engine, [changes.texts[name] for name in batch])
        for name in batch:
            registry.register(name, changes.texts[name], namespace=changes.namespace, source=changes.source)
            on_name(name)
    for name in changes.removed:
        with suppress(UnknownAffixError):  # somebody else forgot it meanwhile
            registry.remove(name, changes.namespace)
        on_name(name)
    for name in changes.changed:
        registry.drop_unnamed(changes.records[name].text_digest, changes.namespace)
    return built


def _warm(engine: BaseEngine, texts: Sequence[str]) -> int:
    pages = engine.warm(texts).pages.values()
    for page in pages:
        if page.reason:
            raise RegistryError(f"a chunk could not be stored: {page.reason}")
    return sum(page.status == "built" for page in pages)
