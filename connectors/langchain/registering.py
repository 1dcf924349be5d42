"""Retrieved documents become affixes: registered in the engine's store, their pages built ahead."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

from langchain_core.documents import Document

from ragcache.connectors.langchain.marks import affix_name, content_name
from ragcache.engine import BaseEngine
from ragcache.errors import InputError, RagCacheError, RegistryError
from ragcache.registry import Registry, normalise_text

log = logging.getLogger(__name__)


def register_documents(engine: BaseEngine, documents: Sequence[Document]) -> list[Document]:
    """Copies whose text is as it was registered, under `metadata["affix"]` in the engine's namespace.

    That is the text normalised (`ragcache.text`), for only what reads alike in prompt and store is reused. A
    document without a visible character, or that the store refuses, comes back as it is: a store that fails
    fails nothing else.
    """
    return [_registered(engine, document) for document in documents]


class Warmer:
    """One thread that builds pages nobody waits for yet. Copies share it, and a pickle has one of its own."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragcache-warm")

    def warm(self, engine: BaseEngine, named: Sequence[Document]) -> None:
        """Build the pages of what `register_documents` registered, one after the other."""
        texts = [document.page_content for document in named if "affix" in document.metadata]
        if texts:
            self._pool.submit(_warm, engine, texts).add_done_callback(_report)

    def wait(self, timeout_s: float | None = None) -> None:
        """Until everything that was given so far is done. Raises TimeoutError."""
        self._pool.submit(lambda: None).result(timeout_s)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Warmer], tuple[()]]:
        return Warmer, ()


def _registered(engine: BaseEngine, document: Document) -> Document:
    if engine.registry is None or not document.page_content.strip():
        return document
    name = affix_name(document)
    try:
        text = normalise_text(document.page_content)
        name = _register(engine.registry, name, text, engine.namespace)
    except (RegistryError, InputError) as error:
        log.warning("document %.60r is not registered: %s", name, error)
        return document
    metadata = {**document.metadata, "affix": name}
    return document.model_copy(update={"page_content": text, "metadata": metadata})


def _register(registry: Registry, name: str, text: str, namespace: str) -> str:
    """What `text` is called: `name`, unless another text has it: chunks of one source push no other out."""
    known = registry.find(name, namespace)
    if known is not None and known.text != text:
        name = f"{name}#{content_name(text)}"
        known = registry.find(name, namespace)
    if known is None or known.text != text:
        registry.register(name, text, namespace=namespace)
    return name


def _warm(engine: BaseEngine, texts: Sequence[str]) -> None:
    for text in texts:
        try:
            engine.warm([text])
        except RagCacheError as error:  # a text that is too long is no reason to leave the others out
            log.warning("warming: %s", error)


def _report(done: Future[None]) -> None:
    if error := done.exception():
        log.error("warming failed", exc_info=error)
