"""A store that pins keep full."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.asks import RIVER, TOWN, ask_about

from ragcache.engine import Engine, LoadedModel
from ragcache.registry import Registry


def test_answers_go_on_without_storing(
    model: LoadedModel, store: Path, bare: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    with Registry(store) as registry, Engine(model, registry) as engine:
        engine.generate([ask_about(TOWN)])
        registry.register("town", TOWN)
        registry.pin("town")
        limit_bytes = registry.stats().size_bytes
    with Registry(store, limit_bytes=limit_bytes) as registry, Engine(model, registry) as engine:
        asked = [engine.generate([ask_about(text)])[0] for text in (RIVER, RIVER, TOWN)]
        assert [found.reuse.affixes[0].status for found in asked] == ["built", "built", "hit"]
        assert registry.stats().entries == 1
    assert asked[1].token_ids == bare.generate([ask_about(RIVER)])[0].token_ids
    assert "pins leave no room" in caplog.text
