"""The pool over processes that only talk like replicas: death, restarts, blame, and an orderly end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from ragcache.engine.parallel import process
from ragcache.engine.parallel.errand import call_errand
from ragcache.engine.parallel.pool import ReplicaPool
from ragcache.engine.parallel.router import NOTHING, Footprint
from ragcache.engine.parallel.spec import EngineOptions, ReplicaSpec
from ragcache.errors import CheckpointError, ConfigError, EngineClosedError, ReplicaDiedError

WAIT_S = 120  # for a word from a process, on a machine that is busy with something else
Open = Callable[..., ReplicaPool]


@pytest.fixture
def open_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Pools of fake replicas on devices, which are closed in the end."""
    monkeypatch.setattr(
        process, "COMMAND", (sys.executable, str(Path(__file__).with_name("fake_replica.py")))
    )
    pools = []

    def open_pool(*devices: str, room: int = 4) -> ReplicaPool:
        specs = [ReplicaSpec("m", device, "auto", EngineOptions(), None) for device in devices]
        pool = ReplicaPool(specs, room, lambda outline: 100)
        pools.append(pool)
        pool.start()
        return pool

    yield open_pool
    for pool in pools:
        pool.close()


def ask(pool: ReplicaPool, call: str, *args: Any, footprint: Footprint = NOTHING) -> Future[Any]:
    errand, future = call_errand(call, args, {}, footprint)
    pool.send(errand)
    return future


def pid(pool: ReplicaPool, **options: Any) -> int:
    found = ask(pool, "echo", **options).result(WAIT_S)
    return int(found[0])


def pids(pool: ReplicaPool) -> list[int]:
    return [replica.pid or 0 for replica in pool.replicas]


def is_gone(pid: int) -> bool:
    """Ended, and no zombie either."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_work_goes_to_whoever_has_least_and_answers_come_back(open_pool: Open) -> None:
    pool = open_pool("cpu", "cpu")
    waiting = ask(pool, "wait", footprint=Footprint(rows=9.0))
    answers = [ask(pool, "echo", number).result(WAIT_S) for number in range(3)]
    assert answers == [(pids(pool)[1], number) for number in range(3)]
    assert not waiting.done()


def test_costs_of_all_replicas_are_added_up(open_pool: Open) -> None:
    pool = open_pool("cpu", "cpu")
    ask(pool, "wait", footprint=Footprint(rows=9.0))
    pid(pool)
    assert pool.row_cost.count == 2
    assert pool.row_cost.row_s == pytest.approx(2.0)


def test_texts_arrive_in_order_before_the_result(open_pool: Open) -> None:
    pool, heard = open_pool("cpu"), []
    errand, future = call_errand("texts", ("a", "ab", "abc"), {}, NOTHING)
    errand.hear = lambda text: heard.append((text, future.done()))
    pool.send(errand)
    future.result(WAIT_S)
    assert heard == [("a", False), ("ab", False), ("abc", False)]


def test_a_cancelled_errand_is_told_to_its_replica(open_pool: Open) -> None:
    pool = open_pool("cpu")
    errand, future = call_errand("wait", (), {}, NOTHING)
    pool.send(errand)
    pool.cancel(errand)
    with pytest.raises(CheckpointError, match="cancelled"):
        future.result(WAIT_S)


def test_one_that_was_dropped_before_it_was_sent_is_cancelled_at_once(open_pool: Open) -> None:
    pool = open_pool("cpu")
    errand, future = call_errand("wait", (), {}, NOTHING)
    errand.dropped = lambda: True
    pool.send(errand)
    with pytest.raises(CheckpointError, match="cancelled"):
        future.result(WAIT_S)


def test_what_a_killed_process_had_is_done_by_another_and_it_is_started_again(open_pool: Open) -> None:
    pool = open_pool("cpu", "cpu")
    first, second = pids(pool)
    errand, future = call_errand("echo", ("x",), {}, NOTHING)
    os.kill(first, signal.SIGSTOP)  # so that it has the errand, and cannot answer
    pool.send(errand)
    os.kill(first, signal.SIGKILL)
    assert future.result(WAIT_S) == (second, "x")
    with pool._changed:
        assert pool._changed.wait_for(lambda: len(pool) == 2, WAIT_S)
    assert pid(pool) == pids(pool)[0] != first
    assert is_gone(first)


def test_a_single_replica_does_after_its_restart_what_it_had(open_pool: Open) -> None:
    pool = open_pool("cpu")
    (first,) = pids(pool)
    os.kill(first, signal.SIGSTOP)
    future = ask(pool, "echo")
    os.kill(first, signal.SIGKILL)
    assert future.result(WAIT_S)[0] not in (first, 0)


def test_an_errand_that_ends_two_processes_is_not_given_to_a_third(open_pool: Open) -> None:
    pool = open_pool("cpu", "cpu", "cpu")
    with pytest.raises(ReplicaDiedError, match=r"ended with code -9, as did another"):
        ask(pool, "die").result(WAIT_S)
    assert pid(pool) in pids(pool)


def test_a_process_that_talks_nonsense_is_ended_like_a_dead_one(open_pool: Open) -> None:
    pool = open_pool("cpu", "cpu")
    with pytest.raises(ReplicaDiedError):
        ask(pool, "nonsense").result(WAIT_S)


@pytest.mark.parametrize(
    ("devices", "error", "message"),
    [
        (("cpu", "broken"), CheckpointError, "no weights"),
        (("mute",), ReplicaDiedError, "on mute ended with code 3"),
        (("cpu", "other"), CheckpointError, "weights were changed"),
    ],
)
def test_a_replica_that_cannot_begin_is_the_error_of_the_start(
    open_pool: Open, devices: tuple[str, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        open_pool(*devices)


def test_with_no_replica_left_everything_fails_at_once(open_pool: Open, tmp_path: Path) -> None:
    pool = open_pool(f"once:{tmp_path / 'started'}")
    with pytest.raises(ReplicaDiedError, match="no replica is left"):
        ask(pool, "die").result(WAIT_S)
    assert pool.wait_for_room(60)
    with pytest.raises(ReplicaDiedError, match="no replica is left"):
        ask(pool, "echo").result(WAIT_S)


def test_one_lost_replica_leaves_the_others(open_pool: Open, tmp_path: Path) -> None:
    pool = open_pool(f"once:{tmp_path / 'started'}", "cpu")
    first, second = pids(pool)
    os.kill(first, signal.SIGKILL)
    pool.replicas[0].join(WAIT_S)
    assert [pid(pool) for _ in range(3)] == [second] * 3


def test_closing_ends_every_process_and_fails_what_is_left(open_pool: Open) -> None:
    pool = open_pool("cpu", "cpu")
    left, mine = ask(pool, "wait"), pids(pool)
    pool.close()
    with pytest.raises(EngineClosedError):
        left.result(0)
    with pytest.raises(EngineClosedError):
        ask(pool, "echo").result(0)
    assert all(map(is_gone, mine))
    pool.close()


def test_what_hears_may_close(open_pool: Open) -> None:
    pool = open_pool("cpu")
    errand, future = call_errand("texts", ("a",), {}, NOTHING)
    errand.hear = lambda text: pool.close()
    pool.send(errand)
    assert future.result(WAIT_S) == pids(pool)[0]
    pool.replicas[0].join(WAIT_S)
    assert is_gone(pids(pool)[0])


def test_what_cannot_be_sent_fails_alone_and_leaves_its_room(open_pool: Open) -> None:
    pool = open_pool("cpu", room=1)
    with pytest.raises(ConfigError, match="of your own"):
        ask(pool, "echo", object()).result(WAIT_S)
    assert pool.wait_for_room(60)
    assert pid(pool) == pids(pool)[0]


def test_room_is_waited_for(open_pool: Open) -> None:
    pool = open_pool("cpu", room=1)
    errand, future = call_errand("wait", (), {}, NOTHING)
    pool.send(errand)
    assert not pool._ledger.has_room
    pool.cancel(errand)
    assert pool.wait_for_room(60)
    assert future.exception(WAIT_S) is not None
