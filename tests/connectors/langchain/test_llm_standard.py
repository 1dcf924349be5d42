"""What LangChain's suite asks of chat models, asked of the plain LLM with nano: it has no suite for those."""

from __future__ import annotations

import asyncio
import pickle
import time
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import LLMResult
from langchain_core.rate_limiters import BaseRateLimiter

from ragcache.connectors.langchain import ChatRagCache, EngineHandle, EngineSpec, RagCacheLLM

HELLO = "Hello"
TALK = [HumanMessage("hello"), AIMessage("hello"), HumanMessage("how are you")]


@pytest.fixture
def llm(nano: EngineHandle) -> RagCacheLLM:
    return RagCacheLLM(engine=nano)


def info_of(result: LLMResult) -> dict[str, Any]:
    info = result.generations[0][0].generation_info
    assert info is not None
    return info


def test_init_is_cheap() -> None:
    started = time.perf_counter()
    for _ in range(100):
        RagCacheLLM(model="nano", temperature=0.0, max_tokens=10, timeout=60.0, stop=[], max_retries=2)
    assert time.perf_counter() - started < 5.0


def test_standard_parameters_are_fields() -> None:
    given: dict[str, Any] = {"temperature": 0.5, "max_tokens": 10, "timeout": 60.0, "stop": ["x"]}
    given |= {"max_retries": 2, "seed": 3, "streaming": True, "model": "nano"}
    for llm in (RagCacheLLM(**given), ChatRagCache(**given)):
        assert {name: getattr(llm, name) for name in given} == given


def test_it_is_not_serialised_as_a_constructor_call(llm: RagCacheLLM) -> None:
    assert dumpd(llm)["type"] == "not_implemented"


async def test_invoke_and_ainvoke(llm: RagCacheLLM) -> None:
    answer = llm.invoke(HELLO)
    assert isinstance(answer, str)
    assert answer
    assert await llm.ainvoke(HELLO) == answer


async def test_stream_and_astream(llm: RagCacheLLM) -> None:
    answer = llm.invoke(HELLO)
    assert "".join(llm.stream(HELLO)) == answer
    assert "".join([piece async for piece in llm.astream(HELLO)]) == answer


async def test_stream_events(llm: RagCacheLLM) -> None:
    events = [event async for event in llm.astream_events(HELLO, version="v2")]
    kinds = [event["event"] for event in events]
    assert kinds[0] == "on_llm_start"
    assert kinds[-1] == "on_llm_end"
    pieces = [event["data"]["chunk"] for event in events if event["event"] == "on_llm_stream"]
    assert "".join(pieces) == llm.invoke(HELLO)


async def test_batch_and_abatch(llm: RagCacheLLM) -> None:
    prompts = [HELLO, "Hey"]
    answers = [llm.invoke(prompt) for prompt in prompts]
    assert llm.batch(prompts) == await llm.abatch(prompts) == answers


@pytest.mark.parametrize(
    "history",
    [
        TALK,
        [SystemMessage("hello"), SystemMessage("hello"), *TALK, HumanMessage("again")],
        [HumanMessage("hello", name="example_user"), *TALK],
        [HumanMessage("What is 1 + 2?"), ToolMessage("3", tool_call_id="abc123"), *TALK],
        [HumanMessage([{"type": "text", "text": "hello"}, " there"])],
        [*TALK, AIMessage("fine")],
    ],
)
def test_conversations(llm: RagCacheLLM, history: list[Any]) -> None:
    assert isinstance(llm.invoke(history), str)


def test_usage(llm: RagCacheLLM) -> None:
    usage = info_of(llm.generate([HELLO]))["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert min(usage["prompt_tokens"], usage["completion_tokens"]) > 0


def test_usage_when_streaming(llm: RagCacheLLM) -> None:
    class Recorder(BaseCallbackHandler):
        results: list[LLMResult] = []  # noqa: RUF012

        def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
            self.results.append(response)

    recorder = Recorder()
    list(llm.stream(HELLO, {"callbacks": [recorder]}))
    assert info_of(recorder.results[0])["usage"] == info_of(llm.generate([HELLO]))["usage"]


def test_stop_sequence(llm: RagCacheLLM, nano: EngineHandle) -> None:
    answer = llm.invoke(HELLO)
    stop = answer[len(answer) // 2]
    assert stop not in llm.invoke(HELLO, stop=[stop])
    assert stop not in RagCacheLLM(engine=nano, stop=[stop]).invoke(HELLO)


def test_options_of_a_call_override_the_constructors(llm: RagCacheLLM) -> None:
    info = info_of(llm.generate([HELLO], max_tokens=1))
    assert info["usage"]["completion_tokens"] <= 1


def test_a_pickled_chain_asks_the_same_model() -> None:
    llm = RagCacheLLM(engine=EngineHandle(EngineSpec("nano", device="cpu")), max_tokens=4)
    again = pickle.loads(pickle.dumps(llm))
    assert again.invoke(HELLO) == llm.invoke(HELLO)
    for one in (llm, again):
        one.engine.close()


class Counting(BaseRateLimiter):
    """Lets everything through and counts it."""

    def __init__(self) -> None:
        self.waits = 0

    def acquire(self, *, blocking: bool = True) -> bool:
        assert blocking
        self.waits += 1
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return self.acquire(blocking=blocking)


async def test_a_rate_limiter_is_asked_once_for_every_prompt(nano: EngineHandle) -> None:
    limiter = Counting()
    llm = RagCacheLLM(engine=nano, rate_limiter=limiter, max_tokens=2)
    llm.invoke(HELLO)
    llm.batch([HELLO, "Hey"])
    list(llm.stream(HELLO))
    assert limiter.waits == 4
    await asyncio.gather(llm.ainvoke(HELLO), llm.abatch([HELLO, "Hey"]))
    async for _ in llm.astream(HELLO):
        pass
    assert limiter.waits == 8
    llm.invoke(HELLO, max_tokens=1)
    assert limiter.waits == 9


async def test_a_chat_models_rate_limiter_is_asked_as_often(nano: EngineHandle) -> None:
    limiter = Counting()
    chat = ChatRagCache(engine=nano, rate_limiter=limiter, max_tokens=2)
    chat.invoke(HELLO)
    chat.batch([HELLO, "Hey"])
    list(chat.stream(HELLO))
    await asyncio.gather(chat.ainvoke(HELLO), chat.abatch([HELLO, "Hey"]))
    async for _ in chat.astream(HELLO):
        pass
    assert limiter.waits == 8
