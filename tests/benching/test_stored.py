"""Serving a request asks the index as often, whatever else is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benching.test_measure import LOAD

from ragcache.benching.arm import open_arm
from ragcache.benching.stored import fill, overheads
from ragcache.benching.systems import parse_system
from ragcache.engine import LoadedModel, Request
from ragcache.registry import Registry
from ragcache.registry.table import Table

LOOKUPS = ("get", "items", "set", "add", "delete")


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each operation of the index was called."""
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
    asked = LOAD.ask(model)
    system = parse_system("acache@0.2", model.predictor.config.layers)
    request = Request(asked.prompts[1], LOAD.options("dual"))
    found = []
    with Registry(store, memory_bytes=0) as registry:  # every page is asked of the disk
        for first, stop in ((0, 10), (10, 210)):
            fill(registry, model, first, stop)
            with open_arm(model, registry, system, LOAD, asked) as arm:
                lookups.clear()
                arm.round([request], [0.0])
                found.append(dict(lookups))
                assert arm.measured(LOAD.canvas).hit_rate == 1.0
        assert registry.stats().entries == 210 + 2
    assert found[0] == found[1]
    assert found[0]["get"] > 0


def test_seconds_outside_forwards_are_told_for_every_count(model: LoadedModel) -> None:
    system = parse_system("acache@0.2", model.predictor.config.layers)
    found = overheads(model, system, LOAD, (1, 3))
    assert [one.affixes for one in found] == [1, 3]
    assert all(0 < one.request_s < 60 for one in found)
