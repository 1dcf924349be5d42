"""Retrieved documents become affixes: by a wrapped retriever, or by a callback on any chain."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from engine.fixtures import *  # noqa: F403
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough

from ragcache.connectors.faiss_store import AffixFAISS
from ragcache.connectors.langchain import (
    AffixCallbackHandler,
    AffixRetriever,
    ApproximateRetriever,
    ChatRagCache,
    EngineHandle,
    EngineSpec,
    RagCacheLLM,
)
from ragcache.connectors.langchain.registering import Warmer, register_documents
from ragcache.connectors.proximity import ProximityCache
from ragcache.engine import Engine, LoadedModel
from ragcache.errors import RegistryError
from ragcache.registry import Registry

from .test_approximate import Letters

RIVER = Document("The river is long and wide; the town near it is old.", metadata={"source": "river.md"})
TOWN = Document("The harbour of the town lies near the old bridge.", metadata={"source": "town.md"})
ROUGH = Document("A line with blanks.  \r\nAnother line of cafe\u0301s.", metadata={"source": "rough.md"})


class Fixed(BaseRetriever):
    """Returns what it was given."""

    documents: list[Document]

    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return self.documents


@pytest.fixture
def tenant(model: LoadedModel, registry: Registry) -> Iterator[Engine]:
    with Engine(model, registry, namespace="tenant") as engine:
        yield engine


def wrapped(engine: Engine, *documents: Document) -> AffixRetriever:
    retriever = Fixed(documents=list(documents))
    return AffixRetriever(retriever=retriever, engine=EngineHandle.of(engine), warm=False)


def names(registry: Registry | None, namespace: str = "default") -> list[str]:
    assert registry is not None
    return [record.name for record in registry.names(namespace)]


def join(documents: Sequence[Document]) -> str:
    return "\n\n".join(document.page_content for document in documents)


def prompt_of(retriever: Runnable[str, list[Document]]) -> Runnable[str, Any]:
    """The usual chain up to its prompt, from LangChain's own parts."""
    template = ChatPromptTemplate.from_messages([("user", "{context}\n\nQuestion: {question}")])
    return {"context": retriever | join, "question": RunnablePassthrough()} | template


class Statuses(AffixCallbackHandler):
    """Also keeps what became of the affixes of every prompt."""

    def __init__(self, engine: EngineHandle, **options: bool) -> None:
        super().__init__(engine, **options)
        self.found: list[list[tuple[str, str]]] = []

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        generation = response.generations[0][0]
        info = getattr(generation, "message", generation)
        metadata = info.response_metadata if hasattr(info, "response_metadata") else info.generation_info
        self.found.append([(use["name"], use["status"]) for use in metadata["reuse"]["affixes"]])


@pytest.mark.parametrize("face", [RagCacheLLM, ChatRagCache])
@pytest.mark.parametrize("ask", ["invoke", "ainvoke", "stream"])
def test_a_chain_as_it_is_hits_from_the_second_query_on(engine: Engine, face: Any, ask: str) -> None:
    """No part of the chain is ours but the model, and nothing in it knows of affixes."""
    handle = EngineHandle.of(engine)
    model = face(engine=handle, max_tokens=8, block_length=4)
    chain = prompt_of(Fixed(documents=[RIVER, TOWN])) | model | StrOutputParser()
    watch = Statuses(handle)
    for question in ("How long?", "How old?"):
        config = {"callbacks": [watch]}
        if ask == "ainvoke":
            asyncio.run(chain.ainvoke(question, config))
        else:
            _ = chain.invoke(question, config) if ask == "invoke" else list(chain.stream(question, config))
    assert watch.found == [
        [("river.md", "built"), ("town.md", "built")],
        [("river.md", "hit"), ("town.md", "hit")],
    ]


@pytest.mark.parametrize("face", [RagCacheLLM, ChatRagCache])
def test_with_everything_recomputed_it_answers_as_without_a_store(engine: Engine, face: Any) -> None:
    handle = EngineHandle.of(engine)
    with Engine(engine.model) as bare:
        plain = face(engine=EngineHandle.of(bare), max_tokens=8, block_length=4, policy="full")
        ours = face(engine=handle, max_tokens=8, block_length=4, budget=1.0)
        prompt = prompt_of(Fixed(documents=[RIVER, TOWN]))
        config = {"callbacks": [AffixCallbackHandler(handle)]}
        for question in ("How long?", "How old?"):
            expected = (prompt | plain | StrOutputParser()).invoke(question)
            assert (prompt | ours | StrOutputParser()).invoke(question, config) == expected


def test_a_callback_may_build_pages_ahead(engine: Engine) -> None:
    handle = EngineHandle.of(engine)
    handler = Statuses(handle, warm=True)
    prompt = prompt_of(Fixed(documents=[RIVER])).invoke("How long?", {"callbacks": [handler]})
    assert handler._warmer is not None
    handler._warmer.wait(60)
    RagCacheLLM(engine=handle, max_tokens=4).invoke(prompt, {"callbacks": [handler]})
    assert handler.found == [[("river.md", "hit")]]


def test_a_text_too_long_for_the_model_leaves_the_others_their_pages(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    warmer, named = Warmer(), register_documents(engine, [Document("why? " * 400, id="long"), RIVER])
    warmer.warm(engine, named)
    warmer.wait(60)
    preview = RagCacheLLM(engine=EngineHandle.of(engine)).explain(f"{RIVER.page_content}\nWhy?")
    assert [section.name for section in preview.affixes("hit")] == ["river.md"]
    assert "affix: " in caplog.text


def test_names_belong_to_the_engines_namespace(tenant: Engine) -> None:
    """Neither its names nor its texts become another tenant's."""
    [found] = wrapped(tenant, RIVER).invoke("anything")
    assert (names(tenant.registry, "tenant"), names(tenant.registry)) == (["river.md"], [])
    preview = RagCacheLLM(engine=EngineHandle.of(tenant)).explain(f"{found.page_content}\nWhy?")
    assert [section.name for section in preview.affixes("missing")] == ["river.md"]


def test_a_text_is_returned_as_it_is_registered(engine: Engine) -> None:
    """Else it would never be found in a prompt that holds it."""
    [found] = wrapped(engine, ROUGH).invoke("anything")
    assert found.page_content == "A line with blanks.\nAnother line of caf\u00e9s."
    assert ROUGH.page_content.endswith("cafe\u0301s.")
    preview = RagCacheLLM(engine=EngineHandle.of(engine)).explain(f"{join([RIVER, found])}\nWhy?")
    assert [section.name for section in preview.affixes("missing")] == ["rough.md"]


def test_a_callback_warns_of_what_will_not_be_found(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    handler = AffixCallbackHandler(EngineHandle.of(engine))
    with caplog.at_level(logging.WARNING, "ragcache"):
        handler.on_retriever_end([RIVER])
        assert caplog.records == []
        handler.on_retriever_end([ROUGH, Document(" \r\n")])
    assert [record.args for record in caplog.records] == [("rough.md",)]


def test_what_is_known_is_not_written_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Document("Something else is in this river.", metadata={"source": "river.md"})
    retriever = wrapped(engine, RIVER, other)
    first = retriever.invoke("anything")
    monkeypatch.setattr(Registry, "register", lambda *_, **__: pytest.fail("written again"))
    assert retriever.invoke("anything") == first
    assert len({document.metadata["affix"] for document in first}) == 2


def test_a_store_that_fails_fails_no_chain(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RegistryError("no room")

    monkeypatch.setattr(Registry, "register", refuse)
    assert wrapped(engine, RIVER).invoke("anything") == [RIVER]
    handle = EngineHandle.of(engine)
    chain = prompt_of(Fixed(documents=[RIVER])) | RagCacheLLM(engine=handle, max_tokens=4)
    assert chain.invoke("Why?", {"callbacks": [AffixCallbackHandler(handle)]})


async def test_the_event_loop_never_waits_for_the_disk(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, register = [], Registry.register

    def note(self: Registry, *arguments: Any, **options: Any) -> Any:
        threads.append(threading.get_ident())
        return register(self, *arguments, **options)

    monkeypatch.setattr(Registry, "register", note)
    await wrapped(engine, RIVER).ainvoke("anything")
    assert threads
    assert threading.get_ident() not in threads


def test_whole_chains_can_be_copied_and_sent_to_another_process(tmp_path: Path) -> None:
    """Copies share engine, embeddings and caches; a vector store is copied. A pickle holds no weights."""
    handle = EngineHandle(EngineSpec("nano", tmp_path / "store"))
    index = AffixFAISS.from_texts(["river", "town"], Letters())
    cache: ProximityCache[Any] = ProximityCache(0.1)
    near = ApproximateRetriever(retriever=index.as_retriever(), embeddings=Letters(), cache=cache)
    retriever = AffixRetriever(retriever=near, engine=handle)
    chain = retriever | join | RagCacheLLM(engine=handle)
    copied = copy.deepcopy(chain)
    assert copied.steps[0].engine is handle
    assert copied.steps[0].retriever.cache is cache
    index.add_texts(["hill"])
    sent = pickle.loads(pickle.dumps(chain)).steps[0]
    assert sent.engine.spec == handle.spec
    found = [one.retriever.retriever.invoke("hill")[0].page_content for one in (retriever, sent)]
    assert found == ["hill", "hill"]
    assert len(copied.steps[0].retriever.retriever.vectorstore) == 2
    sent.wait(60)
