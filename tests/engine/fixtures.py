"""Fixtures for all tests that need an engine's parts: a tiny model, and a place for a store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.tiny_checkpoint import write_checkpoint

from ragcache.engine import Engine, LoadedModel, load
from ragcache.registry import Registry

__all__ = ["checkpoint", "engine", "model", "registry", "store"]


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
def registry(store: Path) -> Iterator[Registry]:
    with Registry(store) as opened:
        yield opened


@pytest.fixture
def engine(model: LoadedModel, registry: Registry) -> Iterator[Engine]:
    with Engine(model, registry) as opened:
        yield opened
