"""Construction, sharing of the engine, and what enters LangChain's cache key."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import ConfigurableField
from pydantic import ValidationError

from ragcache.connectors.langchain import EngineHandle, EngineSpec, RagCacheLLM
from ragcache.connectors.langchain import engine_handle as handle_module
from ragcache.engine import Engine
from ragcache.errors import ConfigError, EngineClosedError, StoreUnavailableError, UnknownModelError
from ragcache.prompt import Prompt
from ragcache.reuse.policy import Direct, Full, ReusePolicy

from .conftest import MakeLLM


@pytest.fixture
def cache() -> Any:
    set_llm_cache(InMemoryCache())
    yield
    set_llm_cache(None)


def test_construction_loads_nothing_and_is_cheap() -> None:
    started = time.perf_counter()
    llms = [RagCacheLLM(model="no such model", seed=n) for n in range(200)]
    assert time.perf_counter() - started < 2.0
    assert str(llms[0])
    with pytest.raises(UnknownModelError):
        llms[0].invoke("hi")


@pytest.mark.parametrize(
    "fields",
    [
        {"max_token": 3},
        {"max_tokens": 0},
        {"temperature": -1.0},
        {"steps": 0},
        {"budget": 2.0},
        {"policy": "fast"},
        {"policy": 0.5},
        {"codec": "zip"},
        {"codec": ""},
        {"policy": "full", "budget": 0.5},
        {"affixes": {"a": " "}},
        {"stop": "END"},
        {"engine": "nano"},
        {"dtype": "fp7"},
        {"top_k": 0},
        {"top_p": 0.0},
        {"min_tokens": -1},
        {"confidence": "hope"},
    ],
)
def test_unknown_fields_and_unusable_values_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RagCacheLLM(**fields)


def test_policies_come_by_name_by_budget_or_as_they_are(make_llm: MakeLLM) -> None:
    assert make_llm().chosen_policy() == ReusePolicy()
    assert make_llm(policy="full").chosen_policy() == make_llm(budget=1.0).chosen_policy() == Full
    assert make_llm(policy=Direct).with_options({"budget": 0.5}).chosen_policy() == ReusePolicy(0.5)
    assert make_llm(budget=0.5).with_options({"policy": "direct"}).chosen_policy() == Direct


def test_an_engines_own_policy_is_the_default(engine: Engine) -> None:
    with Engine(engine.model, policy=Full) as other:
        assert RagCacheLLM(engine=EngineHandle.of(other)).chosen_policy() == Full


def test_a_codec_is_the_engines_or_the_calls(engine: Engine, make_llm: MakeLLM) -> None:
    with Engine(engine.model, codec="int8") as other:
        assert RagCacheLLM(engine=EngineHandle.of(other)).chosen_codec() == "int8"
    llm = make_llm()
    assert (llm.chosen_codec(), llm.with_options({"codec": "fp8"}).chosen_codec()) == ("raw", "fp8")
    llm.invoke("hello", codec="int4")
    assert make_llm(codec="int4").request(Prompt.user("hello"), None).codec == "int4"


def test_the_settings_name_all_that_changes_the_output(make_llm: MakeLLM) -> None:
    variants: list[dict[str, Any]] = [
        {},
        {"max_tokens": 9},
        {"block_length": 9},
        {"steps": 2},
        {"temperature": 0.5},
        {"seed": 1},
        {"top_k": 3},
        {"top_p": 0.5},
        {"min_tokens": 2},
        {"confidence": "entropy"},
        {"stop": ["x"]},
        {"budget": 0.3},
        {"codec": "int8"},
        {"affixes": {"a": "text"}},
    ]
    keys = {str(make_llm(**fields)._identifying_params) for fields in variants}
    handles = [EngineSpec("other"), EngineSpec(store=Path("x")), EngineSpec(match_registered=False)]
    handles += [EngineSpec(namespace="a"), EngineSpec(shared=("x",)), EngineSpec(dtype="bf16")]
    keys |= {str(RagCacheLLM(engine=EngineHandle(spec))._identifying_params) for spec in handles}
    assert len(keys) == len(variants) + len(handles)


@pytest.mark.usefixtures("cache")
async def test_call_options_have_cache_entries_of_their_own(make_llm: MakeLLM) -> None:
    llm, question = make_llm(), "Where is the river?"
    whole = llm.invoke(question)
    short = llm.bind(max_tokens=4).invoke(question)
    assert short == make_llm(max_tokens=4, cache=False).invoke(question) != whole
    assert await llm.bind(max_tokens=4).ainvoke(question) == short
    assert llm.invoke(question) == whole
    assert make_llm(steps=1).invoke(question) == make_llm(steps=1, cache=False).invoke(question) != whole
    with pytest.raises(ConfigError):  # also when an answer is cached
        llm.invoke(question, max_token=4)


@pytest.mark.usefixtures("cache")
def test_stop_strings_have_cache_entries_of_their_own(make_llm: MakeLLM) -> None:
    text = make_llm().invoke("hello")
    assert make_llm(stop=[text[4:6]]).invoke("hello") == text[: text.index(text[4:6])].strip()
    assert make_llm().invoke("hello", stop=[text[8:10]]) == text[: text.index(text[8:10])].strip()


@pytest.mark.usefixtures("cache")
def test_a_cached_answer_is_used_and_keeps_its_report(llm: RagCacheLLM, monkeypatch: Any) -> None:
    first = llm.generate(["hello"]).generations[0][0]
    monkeypatch.setattr(llm.engine.get(), "submit", None)
    assert llm.generate(["hello"]).generations[0][0].generation_info == first.generation_info


@pytest.mark.usefixtures("cache")
def test_a_conversation_shares_no_entry_with_a_text_that_looks_like_it(make_llm: MakeLLM) -> None:
    llm, fresh = make_llm(), make_llm(cache=False)
    messages = [SystemMessage("a"), HumanMessage("b")]
    texts = ["System: a\nHuman: b", "a\n\nb"]
    assert llm.invoke(messages) == fresh.invoke(messages)
    assert [llm.invoke(text) for text in texts] == [fresh.invoke(text) for text in texts]
    assert fresh.invoke(messages) not in [fresh.invoke(text) for text in texts]


def test_copies_and_configured_variants_share_the_engine(llm: RagCacheLLM, make_llm: MakeLLM) -> None:
    assert copy.deepcopy(llm).engine is llm.model_copy(deep=True).engine is llm.engine
    configurable = llm.configurable_fields(max_tokens=ConfigurableField("n"), seed=ConfigurableField("s"))
    variant = configurable.with_config(configurable={"n": 4})
    assert variant.invoke("hello") == make_llm(max_tokens=4).invoke("hello")


def test_a_handle_is_pickled_as_its_spec(tmp_path: Path, llm: RagCacheLLM) -> None:
    made = RagCacheLLM(store=tmp_path / "store", seed=5)
    again = pickle.loads(pickle.dumps(made))
    assert (again.engine.spec, again.seed) == (made.engine.spec, 5)
    assert again.engine is not made.engine
    with pytest.raises(ConfigError, match="pickled"):
        pickle.dumps(llm)


def test_a_shared_engine_says_which_model_answers(llm: RagCacheLLM) -> None:
    assert llm.model == llm.engine.spec.model
    with pytest.raises(ValidationError, match="EngineHandle for each"):
        RagCacheLLM(engine=llm.engine, model="nano")
    with pytest.raises(ValidationError, match="frozen"):
        llm.model = "nano"


def test_a_handle_loads_once_for_all_threads(
    checkpoint: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads, start = [], handle_module.start_engine

    def counted(*given: Any, **options: Any) -> Any:
        loads.append(threading.get_ident())
        return start(*given, **options)

    monkeypatch.setattr(handle_module, "start_engine", counted)
    with EngineHandle(EngineSpec(str(checkpoint), store)) as handle, ThreadPoolExecutor(4) as threads:
        engines = list(threads.map(lambda _: handle.get(), range(4)))
        assert len(loads) == 1
        assert all(engine is engines[0] for engine in engines)
        assert asyncio.run(handle.aget()) is engines[0]
    assert not engines[0]._workers.worker.is_alive()
    with pytest.raises(EngineClosedError):
        handle.get()
    handle.close()


def test_replicas_are_asked_for(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def start(model: str, registry: Any, **options: Any) -> Any:
        asked.update(options, registry=registry)
        raise ConfigError("no such device")

    monkeypatch.setattr(handle_module, "start_engine", start)
    llm = RagCacheLLM(model="nano", store=store, replicas=["cuda:0", "cuda:1"], namespace="tenant")
    with pytest.raises(ConfigError, match="no such device"):
        llm.invoke("hello")
    assert asked["replicas"] == ("cuda:0", "cuda:1")
    assert asked["options"].namespace == "tenant"
    with pytest.raises(StoreUnavailableError, match="closed"):
        asked["registry"].names()


def test_device_and_dtype_are_followed(checkpoint: Path) -> None:
    llm = RagCacheLLM(model=str(checkpoint), device="cpu", dtype="bf16")
    assert llm.engine.get().model.key((1, 2)).dtype == "bfloat16"
    assert RagCacheLLM(engine=EngineHandle.of(llm.engine.get())).dtype == "bf16"
    llm.engine.close()
    with pytest.raises(ValidationError, match="unknown dtype 'fp7'; use auto"):
        RagCacheLLM(dtype="fp7")
    for device in ("abacus", "cuda:99"):
        with pytest.raises(ConfigError, match=f"device '{device}'"):
            RagCacheLLM(model=str(checkpoint), device=device).invoke("hi")


def test_sampling_options_reach_the_engine(make_llm: MakeLLM) -> None:
    said = {"top_k": 3, "top_p": 0.5, "min_tokens": 2, "confidence": "entropy"}
    options = make_llm(**said).request(Prompt.user("hi"), None).options
    assert {name: getattr(options, name) for name in said} == said
    assert make_llm().with_options(said).decoding_options() == options


def test_closing_a_handle_leaves_the_callers_engine_open(engine: Engine) -> None:
    handle = EngineHandle.of(engine)
    handle.close()
    assert RagCacheLLM(engine=EngineHandle.of(engine)).invoke("hello")
