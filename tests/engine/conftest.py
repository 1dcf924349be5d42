"""Engines with and without a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.fixtures import *  # noqa: F403

from ragcache.engine import Engine, LoadedModel
from ragcache.registry import Registry


@pytest.fixture
def registry(store: Path) -> Iterator[Registry]:
    with Registry(store) as opened:
        yield opened


@pytest.fixture
def engine(model: LoadedModel, registry: Registry) -> Iterator[Engine]:
    with Engine(model, registry) as opened:
        yield opened


@pytest.fixture
def bare(model: LoadedModel) -> Iterator[Engine]:
    """An engine without a store."""
    with Engine(model) as opened:
        yield opened
