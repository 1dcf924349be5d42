"""Generation goes on whatever becomes of the store under it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from engine.asks import RIVER, TOWN, ask_about

from ragcache.engine import Completion, Engine, LoadedModel
from ragcache.registry import SHARED_NAMESPACE, Registry


def statuses(completion: Completion) -> list[str]:
    return [use.status for use in completion.reuse.affixes]


@pytest.fixture
def expected(bare: Engine) -> tuple[int, ...]:
    """The answer without any store."""
    return bare.generate([ask_about(RIVER, TOWN)])[0].token_ids


def test_a_store_that_is_read_only_serves_what_it_has(
    model: LoadedModel, store: Path, expected: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Registry(store) as registry, Engine(model, registry) as engine:
        engine.warm([RIVER])
    monkeypatch.setattr("os.access", lambda *_: False)
    with Registry(store) as registry, Engine(model, registry) as engine:
        (completion,) = engine.generate([ask_about(RIVER, TOWN)])
    assert statuses(completion) == ["hit", "built"]
    assert "cannot be written to" in completion.reuse.affixes[1].reason
    assert completion.token_ids == expected


def test_a_store_with_no_room_for_a_page_serves_without_it(
    model: LoadedModel, store: Path, expected: tuple[int, ...]
) -> None:
    with Registry(store, limit_bytes=1) as registry, Engine(model, registry) as engine:
        (completion,) = engine.generate([ask_about(RIVER, TOWN)])
        assert registry.stats().entries == 0
    assert statuses(completion) == ["built", "built"]
    assert "raise limit_bytes" in completion.reuse.affixes[0].reason
    assert completion.token_ids == expected


def test_a_store_deleted_under_a_running_engine(
    model: LoadedModel, store: Path, expected: tuple[int, ...]
) -> None:
    with Registry(store, memory_bytes=0) as registry, Engine(model, registry) as engine:
        engine.generate([ask_about(RIVER)])
        shutil.rmtree(store)
        (completion,) = engine.generate([ask_about(RIVER, TOWN)])
    assert statuses(completion) == ["built", "built"]
    assert completion.token_ids == expected


def test_a_page_damaged_between_two_requests_is_built_anew(
    model: LoadedModel, store: Path, expected: tuple[int, ...]
) -> None:
    with Registry(store, memory_bytes=0) as registry, Engine(model, registry) as engine:
        engine.generate([ask_about(RIVER, TOWN)])
        for page in (store / "pages").iterdir():
            page.write_bytes(page.read_bytes()[:-1])
        again, healed = (engine.generate([ask_about(RIVER, TOWN)])[0] for _ in range(2))
        assert registry.stats().quarantined == 2
    assert (statuses(again), statuses(healed)) == (["built"] * 2, ["hit"] * 2)
    assert again.token_ids == healed.token_ids == expected


def test_a_page_lost_right_after_it_was_found_is_built_anew(
    model: LoadedModel, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Registry(store, memory_bytes=0) as registry, Engine(model, registry, namespace="a") as engine:
        registry.register("doc0", RIVER, namespace=SHARED_NAMESPACE)
        engine.warm([RIVER])
        warm = registry.warm

        def and_lost(*given: object) -> int:
            there = warm(*given)  # type: ignore[arg-type]
            for page in (store / "pages").iterdir():
                page.unlink()
            return there

        monkeypatch.setattr(registry, "warm", and_lost)
        (completion,) = engine.generate([ask_about(RIVER, shared=("doc0",))])
    assert statuses(completion) == ["built"]
