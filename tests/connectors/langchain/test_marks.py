"""Documents keep their names from the retriever into the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from engine.fixtures import *  # noqa: F403
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import LLMResult
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnablePassthrough

from ragcache.connectors.langchain import (
    AffixPromptTemplate,
    AffixRetriever,
    ChatRagCache,
    EngineHandle,
    MarkedText,
    RagCacheLLM,
    stuff_affixes,
)
from ragcache.engine import Engine
from ragcache.errors import InputError

from .conftest import MakeLLM

RIVER = Document("The river is long and wide; the town near it is old.", metadata={"source": "river.md"})
TOWN = Document("The harbour of the town lies near the old bridge.", id="town")
TEMPLATE = "Read this:\n\n{context}\n\nQuestion: {question}"


class Fixed(BaseRetriever):
    """Returns what it was given."""

    documents: list[Document]

    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        if query == "fail":
            raise RuntimeError("no index")
        return self.documents


@pytest.fixture
def handle(engine: Engine) -> EngineHandle:
    return EngineHandle.of(engine)


def retriever(handle: EngineHandle, *documents: Document, warm: bool = False) -> AffixRetriever:
    return AffixRetriever(retriever=Fixed(documents=list(documents)), engine=handle, warm=warm)


def statuses(info: dict[str, Any]) -> list[tuple[str, str]]:
    return [(use["name"], use["status"]) for use in info["reuse"]["affixes"]]


def asked(llm: RagCacheLLM, prompt: Any) -> list[tuple[str, str]]:
    result = llm.generate_prompt([prompt])
    info = result.generations[0][0].generation_info
    assert info is not None
    return statuses(info)


def test_stuffed_documents_read_as_usual_and_keep_their_names() -> None:
    text = stuff_affixes([RIVER, TOWN, Document(" "), Document(RIVER.page_content)])
    contents = [RIVER.page_content, TOWN.page_content, " ", RIVER.page_content]
    assert text == "\n\n".join(contents)
    assert text.marks == {"river.md": RIVER.page_content, "town": TOWN.page_content}


def test_chunks_of_one_source_have_names_of_their_own() -> None:
    parts = [Document(f"Part {n} of it.", metadata={"source": "a.md"}) for n in range(3)]
    names = list(stuff_affixes(parts).marks)
    assert names[0] == "a.md"
    assert len(set(names)) == 3
    assert list(stuff_affixes(parts).marks) == names


def test_a_template_hands_marks_on_to_an_llm(make_llm: MakeLLM) -> None:
    llm, template = make_llm(), AffixPromptTemplate.from_template(TEMPLATE)
    prompt = template.invoke({"context": stuff_affixes([RIVER, TOWN]), "question": "How long?"})
    assert prompt.to_string() == PromptTemplate.from_template(TEMPLATE).format(
        context=f"{RIVER.page_content}\n\n{TOWN.page_content}", question="How long?"
    )
    assert asked(llm, prompt) == [("river.md", "built"), ("town", "built")]
    assert asked(llm, prompt) == [("river.md", "hit"), ("town", "hit")]


def test_marks_reach_the_model_however_it_is_asked(handle: EngineHandle) -> None:
    """Also where LangChain hands on strings: `batch` and `stream` of a plain LLM. Nothing is registered."""
    seen: list[list[tuple[str, str]]] = []

    class Watch(BaseCallbackHandler):
        def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
            seen.append(statuses(response.generations[0][0].generation_info or {}))

    llm = RagCacheLLM(engine=handle, max_tokens=4, block_length=4)
    chain = AffixPromptTemplate.from_template(TEMPLATE) | llm
    given = {"context": stuff_affixes([RIVER]), "question": "How long?"}
    config: RunnableConfig = {"callbacks": [Watch()]}
    chain.invoke(given, config)
    chain.batch([given], config)
    list(chain.stream(given, config))
    asyncio.run(chain.ainvoke(given, config))
    assert seen == [[("river.md", "built")], *[[("river.md", "hit")]] * 3]


def test_the_same_prompt_serves_a_chat_model(handle: EngineHandle) -> None:
    chat = ChatRagCache(engine=handle, max_tokens=8, block_length=4)
    template = AffixPromptTemplate.from_template(TEMPLATE)
    message = (template | chat).invoke({"context": stuff_affixes([RIVER]), "question": "How long?"})
    assert statuses(message.response_metadata) == [("river.md", "built")]
    plain = (PromptTemplate.from_template(TEMPLATE) | chat).invoke(
        {"context": RIVER.page_content, "question": "How long?"}
    )
    assert plain.usage_metadata is not None
    assert message.usage_metadata is not None
    assert plain.usage_metadata["input_tokens"] == message.usage_metadata["input_tokens"]


def test_a_prompt_without_marks_is_a_plain_one() -> None:
    template = AffixPromptTemplate.from_template("{question}")
    value = template.invoke({"question": "Why?"})
    assert [message.content for message in value.to_messages()] == ["Why?"]
    assert isinstance(value.to_string(), MarkedText)


def test_a_plain_chain_hits_from_the_second_query_on(handle: EngineHandle, make_llm: MakeLLM) -> None:
    """Only the retriever is wrapped: prompt, formatter and parser are LangChain's own."""

    def format_docs(documents: Sequence[Document]) -> str:
        return "\n\n".join(document.page_content for document in documents)

    llm, template = make_llm(), PromptTemplate.from_template(TEMPLATE)
    wrapped = retriever(handle, RIVER, TOWN)
    chain = {"context": wrapped | format_docs, "question": RunnablePassthrough()} | template
    full = chain | llm | StrOutputParser()
    first = chain.invoke("How long?")
    assert asked(llm, first) == [("river.md", "built"), ("town", "built")]
    assert asked(llm, chain.invoke("How old?")) == [("river.md", "hit"), ("town", "hit")]
    assert full.invoke("How long?") == llm.invoke(first)


def test_documents_say_their_affix_and_stay_as_they_are(handle: EngineHandle) -> None:
    found = retriever(handle, RIVER, TOWN).invoke("anything")
    assert [document.metadata["affix"] for document in found] == ["river.md", "town"]
    assert [document.page_content for document in found] == [RIVER.page_content, TOWN.page_content]
    assert "affix" not in RIVER.metadata


async def test_retrieving_from_asyncio(handle: EngineHandle) -> None:
    [found] = await retriever(handle, TOWN).ainvoke("anything")
    assert found.metadata["affix"] == "town"


def test_a_second_text_never_takes_a_name(handle: EngineHandle) -> None:
    other = Document("Something else is in this river.", metadata={"source": "river.md"})
    first, second = retriever(handle, RIVER, other).invoke("anything")
    assert first.metadata["affix"] == "river.md"
    assert second.metadata["affix"].startswith("river.md#text-")
    [again] = retriever(handle, RIVER).invoke("anything")
    assert again.metadata["affix"] == "river.md"


def test_warming_builds_pages_in_the_background(handle: EngineHandle, make_llm: MakeLLM) -> None:
    wrapped = retriever(handle, RIVER, warm=True)
    wrapped.invoke("anything")
    wrapped.wait(60)
    template = AffixPromptTemplate.from_template(TEMPLATE)
    prompt = template.invoke({"context": stuff_affixes([RIVER]), "question": "How long?"})
    assert asked(make_llm(), prompt) == [("river.md", "hit")]


def test_what_the_wrapped_retriever_raises_is_raised(handle: EngineHandle) -> None:
    with pytest.raises(RuntimeError, match="no index"):
        retriever(handle, RIVER).invoke("fail")


def test_an_unusable_name_costs_the_name_only(handle: EngineHandle) -> None:
    long = Document("A text.", metadata={"source": "x" * 2000})
    [found] = retriever(handle, long).invoke("anything")
    assert "affix" not in found.metadata


def test_a_mark_and_a_text_that_disagree_name_the_mark() -> None:
    with pytest.raises(InputError, match="'river' is marked"):
        MarkedText.of("The river is long.", {"river": "The river is short."})
    shouting = AffixPromptTemplate.from_template("{{ context|upper }}", template_format="jinja2")
    with pytest.raises(InputError, match=r"'river\.md' is marked"):
        shouting.invoke({"context": stuff_affixes([RIVER])})


def test_a_marked_value_that_the_template_leaves_out_marks_nothing() -> None:
    value = AffixPromptTemplate.from_template("{question}").invoke(
        {"question": "Why?", "context": stuff_affixes([RIVER])}
    )
    assert value.marks == {}  # type: ignore[attr-defined]
