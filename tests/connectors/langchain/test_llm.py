"""The contract of a LangChain LLM: invoke, batch and stream, sync and async, from one caller or many."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import LLMResult
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableParallel

from ragcache.connectors.langchain import EngineHandle, RagCacheLLM
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.errors import ConfigError, EmptyQuestionError, PromptTooLongError

from .conftest import MakeLLM

QUESTIONS = [f"Where is house number {n}?" for n in range(5)]
TOO_LONG = "x" * 400


class Recorder(BaseCallbackHandler):
    """Tokens, results and errors in the order they came."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.results: list[LLMResult] = []
        self.errors: list[BaseException] = []

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        self.tokens.append(token)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        self.results.append(response)

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        self.errors.append(error)


def test_invoke_answers_as_the_engine_does(llm: RagCacheLLM, engine: Engine) -> None:
    (expected,) = engine.generate([Request(QUESTIONS[0], DecodingOptions(16, 4))])
    assert llm.invoke(QUESTIONS[0]) == expected.text
    assert QUESTIONS[0] not in expected.text


async def test_all_ways_to_ask_give_the_same_answer(llm: RagCacheLLM) -> None:
    expected = [llm.invoke(question) for question in QUESTIONS]
    assert len(set(expected)) > 1
    assert llm.batch(QUESTIONS) == expected
    assert llm.batch(QUESTIONS, {"max_concurrency": 2}) == expected
    assert llm.batch(QUESTIONS, return_exceptions=True) == expected
    assert await llm.abatch(QUESTIONS) == expected
    assert await asyncio.gather(*map(llm.ainvoke, QUESTIONS)) == expected
    assert "".join(llm.stream(QUESTIONS[0])) == expected[0]
    assert "".join([piece async for piece in llm.astream(QUESTIONS[0])]) == expected[0]
    with ThreadPoolExecutor(5) as threads:
        assert list(threads.map(llm.invoke, QUESTIONS)) == expected


async def test_a_batch_beyond_what_may_wait_waits_for_room(llm: RagCacheLLM, model: LoadedModel) -> None:
    expected = llm.batch(QUESTIONS)
    with Engine(model, max_waiting=1, max_batch=1) as narrow:
        one_by_one = RagCacheLLM(engine=EngineHandle.of(narrow), max_tokens=16, block_length=4)
        assert one_by_one.batch(QUESTIONS) == await one_by_one.abatch(QUESTIONS) == expected


def test_an_empty_batch_is_empty(llm: RagCacheLLM) -> None:
    assert llm.batch([]) == llm.batch([], return_exceptions=True) == []


async def test_a_prompt_that_fails_leaves_its_batch_alone(llm: RagCacheLLM) -> None:
    inputs = [QUESTIONS[0], TOO_LONG, "", QUESTIONS[1]]
    for answers in (
        llm.batch(inputs, return_exceptions=True),
        await llm.abatch(inputs, return_exceptions=True),
    ):
        assert [answers[0], answers[3]] == [llm.invoke(QUESTIONS[0]), llm.invoke(QUESTIONS[1])]
        assert isinstance(answers[1], PromptTooLongError)
        assert isinstance(answers[2], EmptyQuestionError)


async def test_without_return_exceptions_a_batch_raises_the_first_error(llm: RagCacheLLM) -> None:
    with pytest.raises(PromptTooLongError):
        llm.batch([QUESTIONS[0], TOO_LONG])
    with pytest.raises(EmptyQuestionError):
        await llm.abatch([QUESTIONS[0], " "])
    assert llm.invoke(QUESTIONS[0])


def test_it_composes(llm: RagCacheLLM) -> None:
    chain = PromptTemplate.from_template("Where is {thing}?") | llm | StrOutputParser()
    both = RunnableParallel(first=chain, second=chain)
    answer = chain.invoke({"thing": "it"})
    assert answer == llm.invoke("Where is it?")
    assert both.invoke({"thing": "it"}) == {"first": answer, "second": answer}


def test_every_prompt_has_its_own_generation_info(llm: RagCacheLLM) -> None:
    result = llm.generate([QUESTIONS[0], "and a question that is a little longer than the other one"])
    infos = [generations[0].generation_info for generations in result.generations]
    assert [info["finish_reason"] for info in infos if info] == ["length", "length"]
    for info in infos:
        assert info is not None
        assert info["model_name"] == llm.model
        usage, reuse = info["usage"], info["reuse"]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        assert usage["prompt_tokens"] == reuse["reused"] + reuse["recomputed"] + reuse["fresh"]
        assert json.loads(json.dumps(info)) == info
    assert infos[0] is not None
    assert infos[1] is not None
    assert infos[0]["usage"]["prompt_tokens"] < infos[1]["usage"]["prompt_tokens"]
    assert result.llm_output == {"model_name": llm.model}


async def test_streams_call_back_for_every_piece_and_end_with_the_report(llm: RagCacheLLM) -> None:
    sync, other = Recorder(), Recorder()
    pieces = list(llm.stream(QUESTIONS[0], {"callbacks": [sync]}))
    async_pieces = [piece async for piece in llm.astream(QUESTIONS[0], {"callbacks": [other]})]
    assert pieces == async_pieces == sync.tokens == other.tokens
    assert len(pieces) > 2
    for recorder in (sync, other):
        (generation,) = recorder.results[0].generations[0]
        assert generation.text == "".join(pieces)
        assert generation.generation_info == llm.generate([QUESTIONS[0]]).generations[0][0].generation_info


async def test_with_streaming_callbacks_hear_every_piece_of_an_invoke(make_llm: MakeLLM) -> None:
    """One prompt at a time: for a batch LangChain hands on one run, and pieces could not be told apart."""
    plain, streaming, sync, other = make_llm(), make_llm(streaming=True), Recorder(), Recorder()
    answer = streaming.invoke(QUESTIONS[0], {"callbacks": [sync]})
    assert answer == plain.invoke(QUESTIONS[0])
    assert await streaming.ainvoke(QUESTIONS[0], {"callbacks": [other]}) == answer
    assert sync.tokens == other.tokens
    assert "".join(sync.tokens) == answer
    assert len(sync.tokens) > 2
    (ours,), (expected,) = (llm.generate([QUESTIONS[0]]).generations for llm in (streaming, plain))
    assert ours[0].generation_info == expected[0].generation_info
    assert streaming.batch(QUESTIONS[:2]) == plain.batch(QUESTIONS[:2])


async def test_an_error_reaches_callback_and_caller(llm: RagCacheLLM) -> None:
    recorder = Recorder()
    for call in (llm.invoke, lambda *args: list(llm.stream(*args))):
        with pytest.raises(PromptTooLongError):
            call(TOO_LONG, {"callbacks": [recorder]})
    with pytest.raises(PromptTooLongError):
        async for _ in llm.astream(TOO_LONG, {"callbacks": [recorder]}):
            pass
    assert [type(error) for error in recorder.errors] == [PromptTooLongError] * 3


def test_stop_strings_of_constructor_and_call_both_cut(make_llm: MakeLLM) -> None:
    text = make_llm().invoke(QUESTIONS[0])
    early, late = text[4:6], text[8:10]
    stopped = make_llm(stop=[late])
    assert stopped.invoke(QUESTIONS[0]) == text[: text.index(late)].strip()
    cut = text[: min(text.index(early), text.index(late))].strip()
    assert stopped.invoke(QUESTIONS[0], stop=[early]) == cut
    assert "".join(stopped.stream(QUESTIONS[0], stop=[early])) == cut
    result = stopped.generate([QUESTIONS[0]], stop=[early])
    assert result.generations[0][0].generation_info["finish_reason"] == "stop"  # type: ignore[index]


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 8},
        {"block_length": 16},
        {"steps": 1},
        {"temperature": 1.5},
        {"temperature": 1.5, "seed": 3},
    ],
)
def test_call_options_do_what_constructor_fields_do(
    llm: RagCacheLLM, make_llm: MakeLLM, options: dict[str, Any]
) -> None:
    expected = make_llm(**options).invoke(QUESTIONS[0])
    assert expected != llm.invoke(QUESTIONS[0])
    assert llm.invoke(QUESTIONS[0], **options) == llm.bind(**options).invoke(QUESTIONS[0]) == expected
    assert "".join(llm.stream(QUESTIONS[0], **options)) == expected


async def test_unknown_or_unusable_call_options_are_refused(llm: RagCacheLLM) -> None:
    with pytest.raises(ConfigError, match="max_token;"):
        llm.invoke("hi", max_token=3)
    with pytest.raises(ConfigError, match="model"):
        await llm.ainvoke("hi", model="other")
    with pytest.raises(ConfigError, match="logit_bias"):
        list(llm.stream("hi", logit_bias={}))
    with pytest.raises(ConfigError, match="temperature"):
        llm.invoke("hi", temperature=-1)


async def test_the_event_loop_goes_on_while_the_model_works(llm: RagCacheLLM) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await llm.ainvoke(QUESTIONS[0], max_tokens=64)
    ticking.cancel()
    assert ticks > 10


async def test_a_task_that_is_cancelled_cancels_its_request(
    llm: RagCacheLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, futures = llm.engine.get(), []
    submit = engine.submit

    def recorded(*args: Any, **options: Any) -> Any:
        futures.append(submit(*args, **options))
        return futures[-1]

    monkeypatch.setattr(engine, "submit", recorded)
    asked = asyncio.create_task(llm.ainvoke(QUESTIONS[0], max_tokens=128, block_length=1))
    while not futures:  # LangChain takes a few turns of the loop before it asks
        await asyncio.sleep(0)
    stream = llm.astream(QUESTIONS[1], max_tokens=128, block_length=1)
    await anext(stream)
    asked.cancel()
    await stream.aclose()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert len(futures) == 2
    assert all(future.cancelled() for future in futures)


def test_tokens_are_counted_by_the_models_own_tokenizer(llm: RagCacheLLM, engine: Engine) -> None:
    ids = llm.get_token_ids("the river")
    assert tuple(ids) == engine.model.tokenizer.encode("the river").ids
    assert llm.get_num_tokens("the river") == len(ids)
    assert llm.model_copy(update={"custom_get_token_ids": lambda text: [1]}).get_token_ids("x") == [1]


def test_importing_without_langchain_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import sys

    from ragcache.errors import MissingDependencyError

    monkeypatch.setitem(sys.modules, "langchain_core", None)
    monkeypatch.delitem(sys.modules, "ragcache.connectors.langchain")
    with pytest.raises(MissingDependencyError, match="pip install"):
        importlib.import_module("ragcache.connectors.langchain")
