"""Whose step goes when: without a model, by hand and by chance."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from ragcache.engine.scheduler import DUE_S, PRIORITY_S, Due, Scheduler
from ragcache.errors import ConfigError


@dataclass(eq=False)
class One:
    """A request by its number; `longest` is the most forwards that passed a step of its over."""

    due: Due
    rows: int
    passed: int = 0
    longest: int = 0


def one(number: int, rows: int, priority: int = 0, timeout_s: float | None = None) -> One:
    return One(Due.of(number, float(number), priority, timeout_s), rows)


def numbers(chosen: list[One]) -> list[int]:
    return [contender.due.number for contender in chosen]


def test_steps_of_any_kind_share_a_forward_up_to_the_rows() -> None:
    waiting = [one(0, 60), one(1, 32), one(2, 30), one(3, 8), one(4, 0)]
    scheduler = Scheduler(max_rows=100)
    assert numbers(scheduler.pick(waiting)) == [0, 1, 3, 4]  # what still fits goes along, empty steps always
    assert [contender.passed for contender in waiting] == [0, 0, 1, 0, 0]


def test_a_step_larger_than_all_rows_runs_alone() -> None:
    assert numbers(Scheduler(max_rows=10).pick([one(0, 11), one(1, 1)])) == [0]
    assert numbers(Scheduler(max_rows=10).pick([one(0, 1), one(1, 11)])) == [0]
    assert Scheduler().pick([]) == []


def test_priority_and_deadline_go_before_arrival() -> None:
    scheduler = Scheduler(max_rows=1)
    assert numbers(scheduler.pick([one(0, 1), one(1, 1, priority=1)])) == [1]
    assert numbers(scheduler.pick([one(0, 1), one(1, 1, timeout_s=5.0)])) == [1]
    assert numbers(scheduler.pick([one(0, 1, timeout_s=1e9), one(1, 1)])) == [0]


def test_no_priority_overtakes_for_ever() -> None:
    plain = Due.of(0, submitted=0.0)
    assert Due.of(1, PRIORITY_S - 1.0, priority=1) < plain < Due.of(1, PRIORITY_S + 1.0, priority=1)
    assert plain < Due.of(1, DUE_S, timeout_s=1.0)


@pytest.mark.parametrize(("others", "forwards"), [(1, 2), (3, 4)])
def test_a_refine_waits_for_more_urgent_refreshes_within_the_bound(others: int, forwards: int) -> None:
    refine = one(9, 8)
    refreshes = [one(number, 100, priority=9) for number in range(others)]
    scheduler, waited = Scheduler(max_rows=100, patience=2), 0
    while refine not in scheduler.pick([*refreshes, refine]):
        waited += 1
    assert waited == forwards <= scheduler.patience + others


@pytest.mark.parametrize("seed", range(8))
def test_nobody_waits_longer_than_the_bound(seed: int) -> None:
    draw = random.Random(seed)
    count, patience, rows = draw.randint(2, 9), draw.randint(1, 4), draw.randint(1, 64)
    scheduler = Scheduler(rows, patience)
    contenders = [one(n, 1, draw.randint(-3, 3), draw.choice([None, 0.1, 1e6])) for n in range(count)]
    computed = []
    for _ in range(500):
        chosen = scheduler.pick(contenders)
        assert chosen
        computed.append(sum(contender.rows for contender in chosen))
        assert computed[-1] <= max(rows, *(contender.rows for contender in chosen))
        for contender in contenders:
            contender.longest = max(contender.longest, contender.passed)
        for contender in chosen:  # as they go on, refreshes far over the rows among them
            contender.rows = draw.choice([0, 1, 8, 32, 500])
    assert patience <= max(contender.longest for contender in contenders) <= patience + count - 1


@pytest.mark.parametrize("wrong", [{"max_rows": 0}, {"patience": 0}])
def test_bounds_of_zero_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="must be at least 1"):
        Scheduler(**wrong)
