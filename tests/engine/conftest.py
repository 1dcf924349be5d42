"""Engines with and without a store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine.fixtures import *  # noqa: F403

from ragcache.engine import Engine, LoadedModel


@pytest.fixture
def bare(model: LoadedModel) -> Iterator[Engine]:
    """An engine without a store."""
    with Engine(model) as opened:
        yield opened
