"""Documents of a near-identical earlier query are reused; answers never are."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from ragcache.connectors.langchain import ApproximateRetriever
from ragcache.connectors.proximity import ProximityCache


class Letters(Embeddings):
    """How often letters occur."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]


class Counting(BaseRetriever):
    """Answers with the query, and counts."""

    asked: list[str] = []  # noqa: RUF012 - a pydantic field: copied for every instance

    def _get_relevant_documents(self, query: str, k: int = 1, **kwargs: Any) -> list[Document]:
        self.asked.append(query)
        if query == "fail":
            raise RuntimeError("no index")
        return [Document(query, metadata={"tags": ["x"]})] * k

    async def _aget_relevant_documents(self, query: str, k: int = 1, **kwargs: Any) -> list[Document]:
        return self._get_relevant_documents(query, k)


@pytest.fixture
def retriever() -> ApproximateRetriever:
    cache: ProximityCache[list[Document]] = ProximityCache(0.1, bits=0)
    return ApproximateRetriever(retriever=Counting(), embeddings=Letters(), cache=cache)


def asked(retriever: ApproximateRetriever) -> list[str]:
    assert isinstance(retriever.retriever, Counting)
    return retriever.retriever.asked


async def test_near_queries_share_their_documents(retriever: ApproximateRetriever) -> None:
    first = retriever.invoke("Where is the kettle?")
    assert retriever.invoke("where is the kettle") == first
    assert await retriever.ainvoke("Where is the kettle??") == first
    assert asked(retriever) == ["Where is the kettle?"]
    [other] = await retriever.ainvoke("Who built the old lighthouse of Ostermoor?")
    assert other.page_content.startswith("Who")
    assert (retriever.stats.hits, retriever.stats.misses) == (2, 2)


def test_what_is_kept_cannot_be_changed_from_outside(retriever: ApproximateRetriever) -> None:
    [first] = retriever.invoke("Where?")
    first.metadata["tags"].append("mine")
    [again] = retriever.invoke("Where?")
    again.metadata["tags"].append("mine too")
    assert retriever.invoke("Where?")[0].metadata == {"tags": ["x"]}


def test_a_failure_is_raised_and_not_kept(retriever: ApproximateRetriever) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no index"):
            retriever.invoke("fail")
    assert asked(retriever) == ["fail", "fail"]


async def test_options_are_handed_on_and_keep_nothing(retriever: ApproximateRetriever) -> None:
    assert len(retriever.invoke("Where?", k=3)) == len(await retriever.ainvoke("Where?", k=3)) == 3
    assert len(retriever.invoke("Where?")) == 1
    assert retriever.stats.misses == 1


def test_after_clearing_it_retrieves_anew(retriever: ApproximateRetriever) -> None:
    retriever.invoke("Where?")
    retriever.cache.clear()
    retriever.invoke("Where?")
    assert asked(retriever) == ["Where?", "Where?"]
