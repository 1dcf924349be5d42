"""The chat model: marks, metadata, streams, caches and errors, with a tiny model."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable

import pytest
from engine.fixtures import *  # noqa: F403
from langchain_core.caches import InMemoryCache
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import ValidationError

from ragcache.connectors.langchain import ChatRagCache, EngineHandle
from ragcache.engine import Engine
from ragcache.errors import (
    ConfigError,
    InputError,
    PromptTooLongError,
    RequestTimeoutError,
    UnsupportedError,
)

RIVER = "The river runs from the hills to the grey sea."
QUESTION = "Where does it end?"
MakeChat = Callable[..., ChatRagCache]


@pytest.fixture
def make_chat(engine: Engine) -> MakeChat:
    handle = EngineHandle.of(engine)

    def make(**fields: object) -> ChatRagCache:
        return ChatRagCache(engine=handle, **{"max_tokens": 16, "block_length": 4, **fields})

    return make


@pytest.fixture
def chat(make_chat: MakeChat) -> ChatRagCache:
    return make_chat()


def marked(name: str | None = "river", **more: object) -> HumanMessage:
    block = {"type": "text", "text": RIVER, **({"id": name} if name else {}), **more}
    return HumanMessage(content=[block, {"type": "text", "text": "\n" + QUESTION}])


def affixes(message: AIMessage) -> list[tuple[str, str]]:
    return [(use["name"], use["status"]) for use in message.response_metadata["reuse"]["affixes"]]


def test_a_block_with_an_id_is_an_affix(chat: ChatRagCache) -> None:
    first, second = chat.invoke([marked()]), chat.invoke([marked()])
    assert (affixes(first), affixes(second)) == ([("river", "built")], [("river", "hit")])
    assert first.content == second.content
    created, read = (m.usage_metadata["input_token_details"] for m in (first, second) if m.usage_metadata)
    assert created["cache_creation"] == read["cache_read"] > 0
    assert created["cache_read"] == read["cache_creation"] == 0


def test_marks_change_no_token(chat: ChatRagCache) -> None:
    plain = HumanMessage(content=f"{RIVER}\n{QUESTION}")
    counts = [chat.invoke([message]).usage_metadata for message in (plain, marked())]
    assert counts[0] is not None
    assert counts[1] is not None
    assert counts[0]["input_tokens"] == counts[1]["input_tokens"]


def test_cache_control_marks_by_content_and_random_ids_mark_nothing(chat: ChatRagCache) -> None:
    [(name, _)] = affixes(chat.invoke([marked(None, cache_control={"type": "ephemeral"})]))
    assert name.startswith("text-")
    assert affixes(chat.invoke([marked("lc_a1b2")])) == []


def test_metadata(chat: ChatRagCache) -> None:
    message = chat.invoke([marked()])
    assert message.response_metadata["model_name"] == chat.model
    assert message.response_metadata["finish_reason"] in ("stop", "length")
    usage = message.usage_metadata
    assert usage is not None
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


@pytest.mark.parametrize(
    "history",
    [
        [SystemMessage("Be kind."), SystemMessage("Be brief."), HumanMessage(QUESTION)],
        [HumanMessage(QUESTION), AIMessage("In the sea.")],
        [HumanMessage(QUESTION, name="ann"), ToolMessage("7", tool_call_id="x")],
        [HumanMessage(content=["Where", " does it end?"])],
    ],
)
def test_any_history_is_accepted(chat: ChatRagCache, history: list[HumanMessage]) -> None:
    assert isinstance(chat.invoke(history), AIMessage)


def test_a_stream_is_the_answer_with_its_report_at_the_end(chat: ChatRagCache) -> None:
    chunks = list(chat.stream([marked()]))
    assert "".join(str(chunk.content) for chunk in chunks) == chat.invoke([marked()]).content
    assert [chunk.usage_metadata is not None for chunk in chunks].count(True) == 1
    assert chunks[-1].response_metadata["finish_reason"] in ("stop", "length")


async def test_asking_from_asyncio_is_the_same(chat: ChatRagCache) -> None:
    expected = chat.invoke([marked()]).content
    gathered = await asyncio.gather(*(chat.ainvoke([marked()]) for _ in range(3)))
    assert {str(message.content) for message in gathered} == {expected}
    assert "".join([str(chunk.content) async for chunk in chat.astream([marked()])]) == expected


def test_threads_get_their_own_answers(chat: ChatRagCache) -> None:
    questions = [f"Is it {n}?" for n in range(6)]
    serial = {question: chat.invoke(question).content for question in questions}
    found: dict[str, object] = {}

    def ask(question: str) -> None:
        found[question] = chat.invoke(question).content

    threads = [threading.Thread(target=ask, args=(question,)) for question in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == serial


def test_cached_answers_are_those_of_these_settings(make_chat: MakeChat) -> None:
    cache = InMemoryCache()
    one, other = make_chat(cache=cache), make_chat(cache=cache, max_tokens=2)
    long, short = one.invoke(QUESTION), other.invoke(QUESTION)
    assert long.usage_metadata != short.usage_metadata
    again = one.bind(max_tokens=2).invoke(QUESTION)
    assert again.content == short.content
    assert one.invoke(QUESTION).content == long.content


def test_stop_strings_of_constructor_and_call_both_count(make_chat: MakeChat) -> None:
    text = str(make_chat().invoke(QUESTION).content)
    assert len(text) > 4
    at_call, at_both = text[2], text[1]
    cut = make_chat(stop=[at_both]).invoke(QUESTION, stop=[at_call])
    assert at_both not in str(cut.content)
    assert at_call not in str(cut.content)


def test_copies_share_the_engine(chat: ChatRagCache) -> None:
    assert copy.deepcopy(chat).engine is chat.engine


def test_what_it_cannot_do_is_said(chat: ChatRagCache) -> None:
    """As NotImplementedError, which LangChain expects, and as ours; with what can be done instead."""
    schema = {"title": "x", "type": "object", "properties": {}}
    for refused, instead in (
        (lambda: chat.bind_tools([schema], tool_choice="any"), "edges of a graph"),
        (lambda: chat.with_structured_output(schema, include_raw=True), r"JsonOutputParser\(\)"),
    ):
        with pytest.raises(UnsupportedError, match=instead) as error:
            refused()
        assert isinstance(error.value, NotImplementedError)
    assert chat.profile is not None
    assert (chat.profile["tool_calling"], chat.profile["structured_output"]) == (False, False)
    assert chat.profile["max_input_tokens"] == 256


def test_bad_input_is_typed(chat: ChatRagCache, make_chat: MakeChat) -> None:
    with pytest.raises(PromptTooLongError, match="over the model's window"):
        chat.invoke("why? " * 400)
    with pytest.raises(InputError, match="reads text only"):
        chat.invoke([HumanMessage(content=[{"type": "image_url", "image_url": "x"}])])
    with pytest.raises(ConfigError, match="no option temprature"):
        chat.invoke(QUESTION, temprature=1)
    with pytest.raises(ValidationError, match="temprature"):
        make_chat(temprature=1)


def test_a_timeout_is_an_error_of_its_own(make_chat: MakeChat) -> None:
    with pytest.raises(RequestTimeoutError, match="no answer within"):
        make_chat(timeout=1e-9).invoke(QUESTION)
    with pytest.raises(ConfigError, match="timeout 0"):
        make_chat(timeout=0.0).invoke(QUESTION)


def test_a_forward_that_raised_is_tried_again(
    make_chat: MakeChat, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor, calls = engine.model.predictor, []
    original = type(predictor).forward

    def fail_once(*args: object, **kwargs: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("out of memory")
        return original(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(type(predictor), "forward", fail_once)
    with pytest.raises(RuntimeError, match="out of memory"):
        make_chat().invoke(QUESTION)
    calls.clear()
    assert make_chat(max_retries=1).invoke(QUESTION).content
