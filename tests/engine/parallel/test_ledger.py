"""The pool's book: who has room, what each was sent, and what is learnt from answers."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from ragcache.engine import Completion, ReuseReport, Timings
from ragcache.engine.costs import RowCost
from ragcache.engine.parallel.errand import Errand, call_errand
from ragcache.engine.parallel.ledger import Ledger
from ragcache.engine.parallel.messages import Failed, Result
from ragcache.engine.parallel.router import Footprint

RIVER = tuple(range(40))
COST = RowCost(count=2, rows=30.0, seconds=5.0, squares=500.0, products=90.0)


class Silent:
    """A process that nobody hears of."""

    def send(self, message: object) -> None:
        """See `Process`."""


def errand(*affixes: tuple[int, ...], rows: float = 1.0) -> Errand:
    made: tuple[Errand, Future[Any]] = call_errand("echo", (), {}, Footprint(frozenset(affixes), rows))
    return made[0]


@pytest.fixture
def ledger() -> Ledger:
    made = Ledger(room=2)
    for replica in range(2):
        made.enter(replica, Silent(), 100)
    return made


def completion(fetch_s: float) -> Completion:
    report = ReuseReport((), 0, 0, 0, 0)
    timings = Timings(load_s=fetch_s / 2, encode_s=fetch_s / 2)
    return Completion("", (), "stop", report, timings, 1, "m", "full")


def test_a_replica_without_room_is_passed_over_while_another_has_some(ledger: Ledger) -> None:
    went = [ledger.place(errand(RIVER, rows=0.0)).replica for _ in range(4)]
    assert went == [0, 0, 1, 1]  # where the affix is costs as much as elsewhere, and ties go to the first
    assert not ledger.has_room
    assert ledger.place(errand()).number == 5  # what a dead replica had needs no room


def test_who_leaves_hands_back_what_it_did_not_answer(ledger: Ledger) -> None:
    mine, other = errand(rows=1.0), errand(rows=5.0)
    first, second = ledger.place(mine), ledger.place(other)
    assert (first.replica, second.replica) == (0, 1)
    assert ledger.leave(0) == [mine]
    assert (len(ledger), mine.tries) == (1, 1)
    assert ledger.settle(first.number) is None
    assert ledger.placed(first.number) is None
    assert [placed.number for placed in ledger.of(other)] == [second.number]
    assert ledger.place(mine).replica == 1
    assert mine.tries == 2


def test_who_comes_back_has_nothing_in_memory(ledger: Ledger) -> None:
    assert ledger.settle(ledger.place(errand(RIVER)).number) is not None
    ledger.leave(0)
    ledger.enter(0, Silent(), 100)
    assert ledger.place(errand(RIVER)).missing == len(RIVER)
    assert ledger.place(errand(RIVER, rows=9.0)).missing == len(RIVER)  # the other never had it


def test_the_price_of_a_fetch_is_what_answers_say(ledger: Ledger) -> None:
    placed = ledger.place(errand(RIVER))
    ledger.settle(placed.number, Result(placed.number, completion(fetch_s=4.0), COST))
    assert COST.row_s == pytest.approx(0.3)
    assert ledger._price.rows == pytest.approx(4.0 / 40 / 0.3)
    assert ledger.row_cost == COST


def test_errors_and_calls_teach_no_price(ledger: Ledger) -> None:
    for said in (Failed(1, {}, COST), Result(2, "found", COST)):
        assert ledger.settle(ledger.place(errand(RIVER)).number, said) is not None
    assert ledger._price.rows == 1.0
    assert ledger.row_cost == COST
