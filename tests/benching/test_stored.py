"""Serving a request asks the index as often, whatever else is stored."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benching.test_measure import LOAD

from ragcache.benching.stored import Overhead, fill, growth, overheads
from ragcache.benching.systems import parse_system
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.registry import Registry
from ragcache.registry.table import Table

LOOKUPS = ("get", "items", "set", "add", "delete")


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each operation of the index was called; uses wait to be written, however long it takes."""
    monkeypatch.setattr("ragcache.registry.uses.HELD_S", math.inf)
    calls: Counter[str] = Counter()

    def counted(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            calls[name] += 1
            return own(*arguments, **named)

        return call

    for name in LOOKUPS:
        monkeypatch.setattr(Table, name, counted(name, getattr(Table, name)))
    return calls


def test_lookups_a_request_do_not_grow_with_what_is_stored(
    model: LoadedModel, store: Path, lookups: Counter[str]
) -> None:
    request = Request(LOAD.ask(model).prompts[0], LOAD.options("dual"))
    found = []
    with Registry(store, memory_bytes=0) as registry, Engine(model, registry, prefetch=False) as engine:
        engine.generate([request])  # every page is there from now on, and asked of the disk
        for first, stop in ((0, 10), (10, 210)):
            fill(registry, model, first, stop)
            lookups.clear()
            [completion] = engine.generate([request])
            found.append(dict(lookups))
            assert completion.reuse.status_counts() == {"hit": 2}
        assert registry.stats().entries == 210 + 2
    assert found[0] == found[1]
    assert found[0]["get"] > 0


def test_seconds_outside_forwards_are_told_for_every_count(model: LoadedModel) -> None:
    system = parse_system("acache@0.2", model.predictor.config.layers)
    found = overheads(model, system, LOAD, (1, 3))
    assert [one.affixes for one in found] == [1, 3]
    assert all(0 < one.request_s < 60 for one in found)


def test_growth_is_the_most_affixes_by_the_fewest() -> None:
    assert growth([Overhead(10, 0.002), Overhead(10_000, 0.003)]) == pytest.approx(1.5)
