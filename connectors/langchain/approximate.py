"""A retriever that reuses what it found for a near-identical earlier query."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field

from ragcache.connectors.proximity import ProximityCache, ProximityStats


class ApproximateRetriever(BaseRetriever):
    """Wraps any retriever (Proximity, arXiv 2503.05530). Documents are reused, never answers.

    A query whose embedding lies within the `cache`'s tolerance of an earlier one gets that one's documents;
    others are retrieved. Near-identical queries then have the same prompt but for the question, so that every
    document hits. A call with options of its own (`k=3`) is retrieved, and not kept. Clear the cache when
    what the wrapped retriever searches has changed. What that one raises is raised, and nothing is kept.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    retriever: BaseRetriever
    embeddings: Embeddings = Field(exclude=True, repr=False)
    cache: ProximityCache[list[Document]] = Field(exclude=True, repr=False)

    @property
    def stats(self) -> ProximityStats:
        """How often documents were reused."""
        return self.cache.stats

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        config = RunnableConfig(callbacks=run_manager.get_child())
        if kwargs:
            return self.retriever.invoke(query, config, **kwargs)
        vector = self.embeddings.embed_query(query)
        found = self.cache.get(vector)
        if found is None:
            found = self.retriever.invoke(query, config)
            self.cache.put(vector, deepcopy(found))
        return deepcopy(found)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        config = RunnableConfig(callbacks=run_manager.get_child())
        if kwargs:
            return await self.retriever.ainvoke(query, config, **kwargs)
        vector = await self.embeddings.aembed_query(query)
        found = self.cache.get(vector)
        if found is None:
            found = await self.retriever.ainvoke(query, config)
            self.cache.put(vector, deepcopy(found))
        return deepcopy(found)
