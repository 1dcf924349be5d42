"""The traps of LangChain's contract, those that no other file here holds.

Response caches are in `test_settings` and `test_chat`, roles and marks in `test_prompts`, batches, stop
strings and token counts in `test_llm`, metadata in `test_chat`.
"""

from __future__ import annotations

import asyncio
import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from engine.fixtures import *  # noqa: F403
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableParallel, RunnablePassthrough

from ragcache.connectors.langchain import (
    AffixPromptTemplate,
    ChatRagCache,
    EngineHandle,
    RagCacheLLM,
    stuff_affixes,
)
from ragcache.engine import Engine

from .conftest import MakeLLM

QUESTIONS = [f"Where is house number {number}?" for number in range(12)]
RIVER = "The river is long and wide; the town near it is old."


@pytest.fixture
def chat(engine: Engine) -> ChatRagCache:
    return ChatRagCache(engine=EngineHandle.of(engine), max_tokens=16, block_length=4)


def test_a_chat_models_cache_key_follows_its_fields(engine: Engine) -> None:
    chat = ChatRagCache(engine=EngineHandle.of(engine), max_tokens=16, block_length=4, cache=InMemoryCache())
    long = chat.invoke(QUESTIONS[0])
    chat.max_tokens = 4
    short = chat.invoke(QUESTIONS[0])
    assert short.usage_metadata != long.usage_metadata
    assert not chat.is_lc_serializable()


async def test_threads_streams_and_a_batch_on_one_engine_one_of_them_cancelled(
    chat: ChatRagCache, make_llm: MakeLLM
) -> None:
    llm = make_llm()
    expected = [str(chat.invoke(question).content) for question in QUESTIONS]
    lines = [llm.invoke(question) for question in QUESTIONS[:4]]

    async def stream(question: str) -> str:
        return "".join([str(chunk.content) async for chunk in chat.astream(question)])

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(9) as threads:
        invoked = [loop.run_in_executor(threads, chat.invoke, question) for question in QUESTIONS[:8]]
        batch = loop.run_in_executor(threads, llm.batch, QUESTIONS[:4])
        streams = [asyncio.create_task(stream(question)) for question in QUESTIONS[8:]]
        doomed = chat.astream(QUESTIONS[0], max_tokens=128, block_length=1)
        await anext(doomed)
        await doomed.aclose()  # type: ignore[attr-defined]
        async with asyncio.timeout(300):
            answers = [str(message.content) for message in await asyncio.gather(*invoked)]
            answers += await asyncio.gather(*streams)
            assert await batch == lines
    assert answers == expected
    assert chat.invoke(QUESTIONS[0]).content == expected[0]


def test_parallel_branches_and_batches_of_chats_isolate_what_fails(chat: ChatRagCache) -> None:
    both = RunnableParallel(one=chat | StrOutputParser(), two=chat | StrOutputParser())
    found = both.batch([QUESTIONS[0], "why? " * 400, QUESTIONS[1]], return_exceptions=True)
    assert found[0] == {"one": chat.invoke(QUESTIONS[0]).content, "two": chat.invoke(QUESTIONS[0]).content}
    assert "over the model's window" in str(found[1])
    assert found[2]["one"] == chat.invoke(QUESTIONS[1]).content


def test_what_was_streamed_is_never_taken_back(llm: RagCacheLLM) -> None:
    """A stop string that begins in one block and ends in the next is held back, whole."""
    text = llm.invoke(QUESTIONS[0])
    for length in (2, 3, 5):
        for at in range(1, len(text) - length):
            stop = text[at : at + length]
            assert "".join(llm.stream(QUESTIONS[0], stop=[stop])) == text[: text.index(stop)].strip()


async def test_no_torch_context_is_held_between_pieces(llm: RagCacheLLM, chat: ChatRagCache) -> None:
    for model in (llm, chat):
        for _ in model.stream(QUESTIONS[0]):
            assert (torch.is_inference_mode_enabled(), torch.is_grad_enabled()) == (False, True)
        async for _ in model.astream(QUESTIONS[0]):
            assert (torch.is_inference_mode_enabled(), torch.is_grad_enabled()) == (False, True)


class Failing(BaseCallbackHandler):
    """Raises at every token; with `raise_error` LangChain hands that on."""

    def __init__(self, raise_error: bool) -> None:
        self.raise_error = raise_error

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        raise RuntimeError("callback")


@pytest.mark.parametrize("kind", ["llm", "chat"])
def test_a_callback_that_raises(kind: str, request: pytest.FixtureRequest) -> None:
    asked = request.getfixturevalue(kind)
    quiet: RunnableConfig = {"callbacks": [Failing(False)]}
    assert len(list(asked.stream(QUESTIONS[0], quiet))) > 1
    loud: RunnableConfig = {"callbacks": [Failing(True)]}
    with pytest.raises(RuntimeError, match="callback"):
        list(asked.stream(QUESTIONS[0], loud))
    assert list(asked.stream(QUESTIONS[0]))  # the engine goes on


def test_seeds_choose_samples(make_llm: MakeLLM) -> None:
    warm = [make_llm(temperature=1.5, seed=seed).invoke(QUESTIONS[0]) for seed in (1, 1, 2)]
    assert warm[0] == warm[1] != warm[2]


def test_a_copied_chain_shares_the_engine(llm: RagCacheLLM) -> None:
    chain = PromptTemplate.from_template("Where is {thing}?") | llm | StrOutputParser()
    again = copy.deepcopy(chain)
    assert again.invoke({"thing": "it"}) == chain.invoke({"thing": "it"})
    assert again.steps[1].engine is llm.engine


ODD = {
    "crlf": "One line.\r\nAnother line of it.\r\n",
    "nbsp": "Forty\u00a0crowns for one kettle.",
    "ligature": "The o\ufb03ce of the har\ufb02ord.",
    "special": "He wrote <|im_end|> and <|im_start|>system on it.",
    "marks": "Cafe\u0301 or cafe\u0301, who knows.",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_documents_are_affixes_like_any_other(make_llm: MakeLLM, engine: Engine, text: str) -> None:
    """Marked or not, built or hit: the same ids, and with everything recomputed the same answer."""
    documents = [Document(text, id="odd"), Document(RIVER, id="river")]
    chain = AffixPromptTemplate.from_template("{context}\n\nWhy?")
    prompt = chain.invoke({"context": stuff_affixes(documents)})
    plain = f"{text}\n\n{RIVER}\n\nWhy?"
    assert prompt.to_string() == plain
    llm = make_llm(budget=1.0)
    assert llm.invoke(prompt) == llm.invoke(plain) == llm.invoke(prompt)
    preview = make_llm().explain(prompt)
    assert {section.name for section in preview.sections} >= {"odd", "river"}
    assert preview.prompt_tokens == engine.tokenize(plain).tokens


def test_equal_texts_under_other_names_share_one_page(llm: RagCacheLLM, engine: Engine) -> None:
    assert engine.registry is not None
    documents = [Document(RIVER, id="one"), Document(RIVER, id="two")]
    prompt = AffixPromptTemplate.from_template("{context}\n\nWhy?").invoke(
        {"context": stuff_affixes(documents)}
    )
    info = llm.generate_prompt([prompt]).generations[0][0].generation_info
    assert info is not None
    assert [(use["name"], use["status"]) for use in info["reuse"]["affixes"]] == [("one", "built")] * 2
    assert engine.registry.stats().entries == 1


@pytest.mark.parametrize("kind", ["llm", "chat"])
def test_a_chain_of_langchains_own_parts_hits_from_the_second_query_on(
    kind: str, engine: Engine, request: pytest.FixtureRequest
) -> None:
    """Dropped in for another model, with full recompute, it answers as without any reuse."""
    assert engine.registry is not None
    engine.registry.register("river.md", RIVER)
    retrieve: Any = RunnablePassthrough() | (lambda _: [Document(RIVER)])
    join: Any = retrieve | (lambda documents: "\n\n".join(d.page_content for d in documents))
    template = ChatPromptTemplate.from_messages([("user", "{context}\n\nQuestion: {question}")])
    model = request.getfixturevalue(kind)
    chain = {"context": join, "question": RunnablePassthrough()} | template
    for question, status in (("How long?", "built"), ("How old?", "hit")):
        prompt = chain.invoke(question)
        message = model.generate_prompt([prompt]).generations[0][0]
        info = message.generation_info if kind == "llm" else message.message.response_metadata
        assert [use["status"] for use in info["reuse"]["affixes"]] == [status]
    with Engine(engine.model) as bare:
        full = type(model)(engine=EngineHandle.of(bare), max_tokens=16, block_length=4, policy="full")
        reused = type(model)(engine=model.engine, max_tokens=16, block_length=4, budget=1.0)
        for question in ("How long?", "How old?"):
            pair = [(chain | one | StrOutputParser()).invoke(question) for one in (full, reused)]
            assert pair[0] == pair[1]
