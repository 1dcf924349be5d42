"""Routing: affixes draw requests to where they are, work pushes them away. No process is started."""

from __future__ import annotations

import pytest

from ragcache.engine.parallel.router import Footprint, ReplicaState, Residency, choose

RIVER, TOWN = tuple(range(100)), tuple(range(200, 260))


def replicas(count: int = 2, most_tokens: int = 1000) -> dict[int, ReplicaState]:
    return {number: ReplicaState(Residency(most_tokens)) for number in range(count)}


def asks(*affixes: tuple[int, ...], rows: float = 50.0) -> Footprint:
    return Footprint(frozenset(affixes), rows)


def test_requests_follow_their_affixes() -> None:
    states = replicas()
    states[1].send(1, asks(RIVER), 1.0)
    states[1].answer(1)
    assert choose(states, asks(RIVER), 1.0) == 1
    assert choose(states, asks(TOWN), 1.0) == 0


def test_most_of_the_affix_tokens_decide() -> None:
    states = replicas()
    for at, affix in enumerate((TOWN, RIVER)):
        states[at].send(at, asks(affix), 1.0)
        states[at].answer(at)
    assert choose(states, asks(RIVER, TOWN), 1.0) == 1


def test_unknown_affixes_go_where_least_is_to_be_done() -> None:
    states = replicas(3)
    for at, rows in enumerate((300.0, 100.0, 200.0)):
        states[at].send(at, asks(rows=rows), 1.0)
    assert choose(states, asks(TOWN), 1.0) == 1


def test_a_hot_affix_spreads_once_waiting_costs_more_than_fetching_it() -> None:
    states, went = replicas(), []
    for number in range(12):
        at = choose(states, asks(RIVER), 1.0)
        states[at].send(number, asks(RIVER), 1.0)
        went.append(at)
    assert went[:3] == [0, 1, 0]  # the second would wait for 150 rows, and fetches 100 elsewhere
    assert abs(went.count(0) - went.count(1)) <= 1


@pytest.mark.parametrize(("fetch_rows", "follows"), [(0.1, 1), (1.0, 3), (4.0, 9)])
def test_the_dearer_a_fetch_the_longer_requests_wait_for_their_affix(fetch_rows: float, follows: int) -> None:
    states = replicas()
    states[0].send(0, asks(RIVER, rows=0.0), 0.0)
    states[0].answer(0)
    number = 0
    while choose(states, asks(RIVER), fetch_rows) == 0:
        number += 1
        states[0].send(number, asks(RIVER), fetch_rows)
    assert number == follows


def test_what_is_answered_is_no_work_any_more() -> None:
    states = replicas()
    states[0].send(7, asks(rows=500.0), 1.0)
    assert choose(states, asks(), 1.0) == 1
    states[0].answer(7)
    states[0].answer(7)
    assert choose(states, asks(), 1.0) == 0


def test_memory_is_bounded_and_forgets_what_was_not_sent_for_longest() -> None:
    residency = Residency(170)
    residency.add([RIVER])
    residency.add([TOWN])
    residency.add([RIVER])
    residency.add([tuple(range(300, 350))])
    assert residency.missing([RIVER, TOWN]) == len(TOWN)
    assert residency.tokens == 150


def test_an_affix_larger_than_the_memory_stays_nowhere() -> None:
    residency = Residency(70)
    residency.add([TOWN])
    residency.add([RIVER])
    assert (residency.tokens, residency.missing([TOWN, RIVER])) == (len(TOWN), len(RIVER))


def test_what_is_sent_counts_with_what_has_to_be_fetched_for_it() -> None:
    (state,) = replicas(1).values()
    assert state.send(1, asks(RIVER, TOWN), 0.5) == 160
    assert state.cost(asks(), 0.5) == 50.0 + 0.5 * 160
    assert state.send(2, asks(RIVER), 0.5) == 0
    assert state.cost(asks((1, 2)), 0.5) == 180.0 + 1.0
