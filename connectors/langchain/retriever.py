"""A retriever whose documents become affixes, and a callback that does the same for any chain."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    BaseCallbackHandler,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, PrivateAttr

from ragcache.connectors.langchain.engine_handle import EngineHandle
from ragcache.connectors.langchain.registering import Warmer, register_documents

log = logging.getLogger(__name__)


class AffixRetriever(BaseRetriever):
    """Wraps any retriever: what it returns is registered in the engine's store, under `metadata["affix"]`.

    A prompt that holds such a text, marked or not, then reuses its page. With `warm` the pages are built in
    the background, while the chain formats its prompt. What is returned are copies whose texts are normalised
    as the store keeps them (LF line ends, NFC, no blanks at line ends). A store that fails never fails a
    retrieval; what the wrapped retriever raises is raised.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    retriever: BaseRetriever
    engine: EngineHandle = Field(exclude=True, repr=False)
    warm: bool = True

    _warmer: Warmer = PrivateAttr(default_factory=Warmer)

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
        return await asyncio.to_thread(self._registered, documents)  # the store waits for the disk

    def wait(self, timeout_s: float | None = None) -> None:
        """Until everything that is being warmed is done. Raises TimeoutError."""
        self._warmer.wait(timeout_s)

    def _registered(self, documents: Sequence[Document]) -> list[Document]:
        engine = self.engine.get()
        named = register_documents(engine, documents)
        if self.warm:
            self._warmer.warm(engine, named)
        return named


class AffixCallbackHandler(BaseCallbackHandler):
    """Registers what the retrievers of a chain return, so that a chain need not be changed at all:
    `chain.invoke(question, {"callbacks": [AffixCallbackHandler(engine)]})`.

    The texts are then found in the chain's prompts as they stand. A document whose text the store would
    normalise (CRLF, blanks at line ends, not NFC) is not found there, and warned of: `AffixRetriever` is for
    those. With `warm` pages are built in the background.
    """

    def __init__(self, engine: EngineHandle, *, warm: bool = False) -> None:
        self.engine, self._warmer = engine, Warmer() if warm else None

    def on_retriever_end(self, documents: Sequence[Document], **kwargs: Any) -> None:
        """See `BaseCallbackHandler`."""
        engine = self.engine.get()
        named = register_documents(engine, documents)
        for before, after in zip(documents, named, strict=True):
            if before.page_content != after.page_content:
                log.warning(
                    "document %.60r has CRLF, blanks at line ends or no NFC, and is not found in prompts; "
                    "normalise it when it is indexed, or wrap its retriever in AffixRetriever",
                    after.metadata["affix"],
                )
        if self._warmer is not None:
            self._warmer.warm(engine, named)
