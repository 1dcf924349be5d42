"""A tiny model behind `RagCacheLLM`, with a store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine.tiny_checkpoint import write_checkpoint

from ragcache.connectors.langchain import EngineHandle, RagCacheLLM
from ragcache.engine import Engine, LoadedModel, load
from ragcache.registry import Registry

MakeLLM = Callable[..., RagCacheLLM]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def model(checkpoint: Path) -> LoadedModel:
    return load(str(checkpoint), device="cpu")


@pytest.fixture
def store() -> Iterator[Path]:
    """In memory where there is such a place: the store waits for the disk at every write."""
    usable = os.access("/dev/shm", os.W_OK)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if usable else None) as folder:
        yield Path(folder) / "store"


@pytest.fixture
def engine(model: LoadedModel, store: Path) -> Iterator[Engine]:
    with Registry(store) as registry, Engine(model, registry) as opened:
        yield opened


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
