"""The queue of requests: bounded, in order, left at once by who cancels."""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from ragcache.engine.job import Job
from ragcache.engine.request import Request
from ragcache.engine.waiting import WaitingQueue
from ragcache.errors import ConfigError, EngineBusyError, EngineClosedError


def job(priority: int = 0, timeout_s: float | None = None) -> Job:
    return Job(Request("hello", priority=priority, timeout_s=timeout_s), lambda text: None)


def taken(queue: WaitingQueue) -> list[Job]:
    """All jobs in the order in which a worker gets them."""
    jobs = []
    while (head := queue.head()) is not None:
        assert queue.remove(head)
        jobs.append(head)
    return jobs


def test_jobs_come_by_priority_and_time_left_and_else_as_they_arrived() -> None:
    queue = WaitingQueue(9)
    first, second, hurried, urgent = job(), job(), job(timeout_s=3.0), job(priority=9)
    for one in (first, second, hurried, urgent):
        queue.put(one)
    assert taken(queue) == [urgent, hurried, first, second]
    assert len(queue) == 0


def test_a_full_queue_is_busy_and_says_so() -> None:
    queue = WaitingQueue(2)
    queue.put(job())
    queue.put(job())
    with pytest.raises(EngineBusyError, match="2 requests are waiting") as caught:
        queue.put(job())
    assert caught.value.waiting == 2
    with pytest.raises(ConfigError, match="max_waiting"):
        WaitingQueue(0)


def test_who_cancels_makes_room_and_is_not_seen_again() -> None:
    queue = WaitingQueue(2)
    left, stays, late = job(), job(), job()
    queue.put(left)
    queue.put(stays)
    assert left.future.cancel()
    queue.put(late)
    assert taken(queue) == [stays, late]
    with pytest.raises(CancelledError):
        left.future.result(timeout=1)
    assert left.settled


def test_who_may_block_gets_the_room_that_another_leaves() -> None:
    queue, second = WaitingQueue(1), job()
    queue.put(job())
    with ThreadPoolExecutor(1) as threads:
        blocked = threads.submit(queue.put, second, wait=True)
        assert queue.stay(None)
        head = queue.head()
        assert head is not None
        assert queue.remove(head)
        assert not queue.remove(head)
        blocked.result(timeout=10)
    assert taken(queue) == [second]


def test_closing_hands_out_what_waits_and_wakes_who_blocks() -> None:
    queue, first = WaitingQueue(1), job()
    queue.put(first)
    with ThreadPoolExecutor(1) as threads:
        blocked = threads.submit(queue.put, job(), wait=True)
        assert queue.close() == [first]
        with pytest.raises(EngineClosedError):
            blocked.result(timeout=10)
    assert queue.closed
    assert not queue.stay(None)
    with pytest.raises(EngineClosedError):
        queue.put(job())


def test_a_worker_that_waited_in_vain_has_left_and_who_comes_next_knows() -> None:
    queue, late = WaitingQueue(2), job()
    assert not queue.unattended
    assert not queue.stay(0.01)
    assert queue.unattended
    assert not queue.put(late)  # nothing is before it: no worker is at work
    queue.attend()
    assert queue.stay(60)
    assert queue.head() is late
    assert not queue.unattended


def test_a_worker_that_left_stays_away_though_another_took_its_place() -> None:
    queue = WaitingQueue(2)
    stayed = queue.stay(0.01)
    queue.put(job())
    queue.attend()  # by the other, before the first looks at what it was told
    assert not stayed


def test_those_whose_time_is_over_are_taken_out_at_once_wherever_they_are() -> None:
    queue = WaitingQueue(3)
    first, late, left = job(priority=9), job(timeout_s=1e-9), job(timeout_s=1e-9)
    for one in (first, late, left):
        queue.put(one)
    assert left.future.cancel()
    assert queue.take_late() == [late]
    assert queue.take_late() == []
    assert taken(queue) == [first]
