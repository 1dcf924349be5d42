"""A tiny model behind `RagCacheLLM`, with a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from engine.fixtures import *  # noqa: F403

from ragcache.connectors.langchain import EngineHandle, EngineSpec, RagCacheLLM
from ragcache.engine import Engine

MakeLLM = Callable[..., RagCacheLLM]


@pytest.fixture
def make_llm(engine: Engine) -> MakeLLM:
    """`make_llm(max_tokens=8)` is an LLM on the test's engine."""
    handle = EngineHandle.of(engine)

    def make(**fields: object) -> RagCacheLLM:
        return RagCacheLLM(engine=handle, **{"max_tokens": 16, "block_length": 4, **fields})

    return make


@pytest.fixture
def llm(make_llm: MakeLLM) -> RagCacheLLM:
    return make_llm()


@pytest.fixture(scope="session")
def nano() -> Iterator[EngineHandle]:
    """The shipped model, loaded once, without a store."""
    with EngineHandle(EngineSpec("nano", device="cpu")) as shared:
        yield shared
