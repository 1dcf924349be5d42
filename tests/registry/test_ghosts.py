from __future__ import annotations

from pathlib import Path

import pytest

from ragcache.registry import LRU, Registry
from ragcache.registry.ghosts import GHOSTS, KEPT, Ghosts
from ragcache.registry.moment import Moment
from ragcache.registry.table import Table


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> Moment:
        return Moment("boot", self.seconds, -self.seconds)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    (tmp_path / "index").mkdir()
    return Table(tmp_path / "index")


def test_gap_is_told_once(table: Table) -> None:
    clock = Clock()
    ghosts = Ghosts(table, clock)
    ghosts.add("a")
    clock.seconds = 12.5
    assert (ghosts.take("a"), ghosts.take("a"), ghosts.take("b")) == (12.5, None, None)


def test_the_list_is_bounded_and_the_oldest_goes(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcache.registry.ghosts.KEPT", 3)
    assert KEPT == 1024
    ghosts = Ghosts(table, Clock())
    for name in "abacdef":
        ghosts.add(name)
    assert [ghosts.take(name) is not None for name in "abcdef"] == [False, False, False, True, True, True]
    assert len(list(table.items(GHOSTS))) <= 4


def test_evicted_again_outlives_its_first_slot(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcache.registry.ghosts.KEPT", 3)
    ghosts = Ghosts(table, Clock())
    for name in "abac":
        ghosts.add(name)
    assert ghosts.take("a") is not None


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1, 2, 3, 4]", '[0, "boot", 1, 2]', "[" * 9000])
def test_planted_ghosts_tell_nothing(table: Table, text: str) -> None:
    table.set(f"{GHOSTS}a", text)
    table.set(f"{GHOSTS}next", "seven")
    ghosts = Ghosts(table, Clock())
    assert ghosts.take("a") is None
    ghosts.add("b")
    assert ghosts.take("b") == 0.0


def test_store_tells_when_evicted_pages_were_wanted_again(path: Path, make_key, make_page) -> None:
    a, b = make_key(0), make_key(10)
    with Registry(path) as registry:
        registry.put(a, make_page(a))
        size_bytes = registry.stats().size_bytes
    with Registry(path, limit_bytes=size_bytes, eviction=LRU()) as registry:
        assert registry.usage().mean_gap_s is None
        registry.put(b, make_page(b))
        registry.put(a, make_page(a))
        usage = registry.usage()
    assert (usage.evicted, usage.reuse_gaps) == (2, 1)
    assert usage.mean_gap_s is not None
    assert 0 <= usage.mean_gap_s < 600
