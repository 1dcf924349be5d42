from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ragcache.errors import ConfigError, StorePinnedError, UnknownAffixError
from ragcache.registry import LRU, Registry
from ragcache.registry.leases import LEASES, Leases
from ragcache.registry.moment import Moment
from ragcache.registry.table import Table

A, B = "a" * 64, "b" * 64


class Clock:
    """A machine's clocks, to be turned by hand."""

    def __init__(self) -> None:
        self.now = Moment("boot 1", 1000.0, 5_000_000.0)

    def __call__(self) -> Moment:
        return self.now

    def move(self, seconds: float, **jump: float | str) -> None:
        later = {"elapsed_s": self.now.elapsed_s + seconds, "wall_s": self.now.wall_s + seconds}
        self.now = replace(self.now, **{**later, **jump})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    (tmp_path / "index").mkdir()
    return Table(tmp_path / "index")


def held(leases: Leases) -> tuple[set[str], set[str]]:
    found = leases.held()
    return set(found.hard), set(found.soft)


def test_lease_ends_on_its_own_and_is_shared(table: Table, clock: Clock) -> None:
    one, two = Leases(table, clock), Leases(table, clock)
    one.take(A, "hard", 10)
    one.take(B, "soft", 20)
    assert held(two) == ({A}, {B})
    clock.move(10)
    assert held(two) == (set(), {B})
    assert (len(two.ended()), two.sweep(), two.sweep()) == (1, 1, 0)
    clock.move(10)
    assert (held(two), two.drop(B)) == ((set(), set()), False)


def test_longer_lease_stays_and_the_stronger_pin_counts(table: Table, clock: Clock) -> None:
    leases = Leases(table, clock)
    leases.take(A, "hard", 100)
    leases.take(A, "hard", 1)
    leases.take(A, "soft", 1000)
    clock.move(50)
    assert held(leases) == ({A}, set())
    clock.move(60)
    assert held(leases) == (set(), {A})
    assert leases.drop(A)
    assert held(leases) == (set(), set())


@pytest.mark.parametrize("jump_s", [-1e9, -3600.0, 3600.0, 1e9])
def test_wall_clock_that_jumps_moves_no_lease(table: Table, clock: Clock, jump_s: float) -> None:
    leases = Leases(table, clock)
    leases.take(A, "hard", 60)
    clock.move(0, wall_s=clock.now.wall_s + jump_s)
    assert held(leases)[0] == {A}
    clock.move(59)
    leases.sweep()
    assert held(leases)[0] == {A}
    clock.move(1)
    assert held(leases)[0] == set()


@pytest.mark.parametrize("boot", ["boot 2", "boot 1"], ids=["named boots", "an uptime that starts anew"])
def test_lease_goes_on_over_a_restart(table: Table, clock: Clock, boot: str) -> None:
    leases = Leases(table, clock)
    leases.take(A, "hard", 100)
    clock.move(30, boot=boot, elapsed_s=5.0)
    leases.sweep()
    assert held(leases)[0] == {A}
    clock.move(69)
    assert held(leases)[0] == {A}
    clock.move(2)
    assert held(leases)[0] == set()


def test_restart_with_the_clock_set_far_back_does_not_stretch_a_lease(table: Table, clock: Clock) -> None:
    leases = Leases(table, clock)
    leases.take(A, "hard", 100)
    clock.move(0, boot="boot 2", elapsed_s=5.0, wall_s=0.0)
    assert held(leases)[0] == {A}
    leases.sweep()  # as every opening of a store does
    clock.move(99)
    assert held(leases)[0] == {A}
    clock.move(1)
    assert held(leases)[0] == set()


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "60", True])
def test_lease_needs_a_finite_time(table: Table, seconds: float) -> None:
    with pytest.raises(ConfigError, match="seconds"):
        Leases(table).take(A, "hard", seconds)


def test_kind_must_be_known(table: Table) -> None:
    with pytest.raises(ConfigError, match="'firm'"):
        Leases(table).take(A, "firm", 1)  # type: ignore[arg-type]


def test_planted_leases_hold_nothing_and_are_swept(table: Table, clock: Clock) -> None:
    leases = Leases(table, clock)
    good = leases.take(A, "hard", 10)
    for text in (
        "",
        "[]",
        "{}",
        json.dumps({**json.loads(good.to_json()), "seconds": float("inf")}),
        5,
        b"x",
    ):
        table.set(f"{LEASES}hard:{B}", text)
        assert held(leases)[0] == {A}
        assert leases.sweep() == 1
    table.set(f"{LEASES}hard:{B}", good.to_json())
    assert (leases.sweep(), held(leases)[0]) == (1, {A})


@pytest.fixture
def size_bytes(tmp_path: Path, make_key, make_page) -> int:
    with Registry(tmp_path / "probe") as registry:
        registry.put(make_key(), make_page(make_key()))
        return registry.stats().size_bytes


def test_hard_pin_stays_and_soft_pin_goes_last(path: Path, make_key, make_page, size_bytes: int) -> None:
    keys = [make_key(first) for first in range(0, 60, 10)]
    with Registry(path, limit_bytes=3 * size_bytes, memory_bytes=0, eviction=LRU()) as registry:
        for key in keys[:3]:
            registry.put(key, make_page(key))
        registry.pin(keys[0])
        registry.pin(keys[1], "soft")
        assert registry.usage().pinned == {"hard": 1, "soft": 1}
        for key in keys[3:]:
            registry.put(key, make_page(key))
        assert [registry.get(key) is not None for key in keys] == [True, True, False, False, False, True]
        registry.pin(keys[5])
        registry.put(keys[2], make_page(keys[2]))
        assert [registry.get(key) is not None for key in keys] == [True, False, True, False, False, True]


def test_nothing_but_pins_is_a_typed_error_and_evicts_nothing(
    path: Path, make_key, make_page, size_bytes: int
) -> None:
    a, b, c = make_key(0), make_key(10), make_key(20)
    with Registry(path, limit_bytes=2 * size_bytes, memory_bytes=0) as registry:
        registry.put(a, make_page(a))
        registry.put(b, make_page(b))
        registry.pin(a)
        registry.pin(b)
        with pytest.raises(StorePinnedError, match="unpin some"):
            registry.put(c, make_page(c))
        assert (registry.stats().entries, registry.stats().evicted) == (2, 0)
        assert registry.unpin(b)
        assert not registry.unpin(b)
        registry.put(c, make_page(c))
        assert [registry.get(key) is not None for key in (a, b, c)] == [True, False, True]


def test_pin_of_a_name_covers_pages_built_later_and_outlives_its_process(
    path: Path, make_key, make_page, size_bytes: int
) -> None:
    named, others = make_key(0), [make_key(10), make_key(20)]
    with Registry(path) as registry:
        text = registry.register("a", "text").text_digest
        registry.pin("a")
    with Registry(path, limit_bytes=size_bytes, memory_bytes=0) as registry:
        registry.put(named, make_page(named), text_digest=text)
        for key in others:
            with pytest.raises(StorePinnedError):
                registry.put(key, make_page(key))
        assert registry.get(named) is not None
        registry.remove("a")
        assert registry.get(named) is None
        registry.put(others[0], make_page(others[0]))


def test_pins_do_not_keep_a_store_with_a_lower_limit_shut(path: Path, make_key, make_page) -> None:
    with Registry(path) as registry:
        registry.put(make_key(), make_page(make_key()))
        registry.pin(make_key())
    with Registry(path, limit_bytes=1) as registry:
        assert registry.get(make_key()) is not None


def test_unknown_names_cannot_be_pinned(registry: Registry) -> None:
    for change in (registry.pin, registry.unpin):
        with pytest.raises(UnknownAffixError, match="'nobody'"):
            change("nobody")


def test_wall_clock_set_back_does_not_move_a_real_pin(
    path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Registry(path) as registry:
        registry.put(make_key(), make_page(make_key()))
        registry.pin(make_key(), seconds=0.05)
        monkeypatch.setattr("time.time", lambda: -1e9)
        uptime = Moment.now().elapsed_s
        while Moment.now().elapsed_s < uptime + 0.06:
            pass
        assert registry.usage().pinned["hard"] == 0
