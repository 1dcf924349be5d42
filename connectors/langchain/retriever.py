"""A retriever whose documents become affixes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, PrivateAttr

from ragcache.connectors.langchain.engine_handle import EngineHandle
from ragcache.connectors.langchain.marks import affix_name, content_name
from ragcache.engine import BaseEngine
from ragcache.errors import InputError, RagCacheError, RegistryError, UnknownAffixError

log = logging.getLogger(__name__)


class AffixRetriever(BaseRetriever):
    """Wraps any retriever: what it returns is registered in the engine's store, under `metadata["affix"]`.

    A prompt that holds such a text, marked or not, then reuses its page. With `warm` the pages are built in
    the background, while the chain formats its prompt. The documents themselves are never changed, and a
    store that fails never fails a retrieval; what the wrapped retriever raises is raised.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    retriever: BaseRetriever
    engine: EngineHandle = Field(exclude=True, repr=False)
    warm: bool = True

    _pool: ThreadPoolExecutor = PrivateAttr(
        default_factory=lambda: ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragcache-warm")
    )

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        config: Any = {"callbacks": run_manager.get_child()}
        return self._registered(self.retriever.invoke(query, config, **kwargs))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        config: Any = {"callbacks": run_manager.get_child()}
        documents = await self.retriever.ainvoke(query, config, **kwargs)
        await self.engine.aget()  # loads without blocking the event loop
        return self._registered(documents)

    def wait(self, timeout_s: float | None = None) -> None:
        """Until everything that is being warmed is done. Raises TimeoutError."""
        self._pool.submit(lambda: None).result(timeout_s)

    def _registered(self, documents: Sequence[Document]) -> list[Document]:
        engine = self.engine.get()
        named = [self._name(engine, document) for document in documents]
        texts = [one.page_content for one in named if "affix" in one.metadata]
        if self.warm and texts:
            self._pool.submit(_warm, engine, texts).add_done_callback(_report)
        return named

    def _name(self, engine: BaseEngine, document: Document) -> Document:
        """A copy that says what its text is registered as; the document as it is where that failed."""
        if engine.registry is None or not document.page_content.strip():
            return document
        name = affix_name(document)
        try:
            if not _is_ours(engine, name, document.page_content):
                name = f"{name}#{content_name(document.page_content)}"
            engine.registry.register(name, document.page_content)
        except (RegistryError, InputError) as error:
            log.warning("document %.60r is not registered: %s", name, error)
            return document
        return document.model_copy(update={"metadata": {**document.metadata, "affix": name}})


def _is_ours(engine: BaseEngine, name: str, text: str) -> bool:
    """Whether `name` is free or has this very text: chunks of one source must not push each other out."""
    assert engine.registry is not None
    try:
        return engine.registry.lookup(name).text_digest == engine.registry.text_digest(text)
    except UnknownAffixError:
        return True


def _warm(engine: BaseEngine, texts: Sequence[str]) -> None:
    for text in texts:
        engine.warm([text])


def _report(done: Future[None]) -> None:
    error = done.exception()
    if isinstance(error, RagCacheError):
        log.warning("warming: %s", error)
    elif error is not None:
        log.error("warming failed", exc_info=error)
