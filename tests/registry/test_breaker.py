from __future__ import annotations

import threading
import time

import pytest

from ragcache.registry.breaker import CircuitBreaker, DeadlineCaller


def test_breaker_opens_tries_and_closes() -> None:
    now = [0.0]
    breaker = CircuitBreaker(2, 10.0, lambda: now[0])
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert breaker.allows()  # two in a row are needed
    breaker.failed()
    assert breaker.is_open
    assert not breaker.allows()
    now[0] = 10.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]  # one trial
    breaker.failed()
    now[0] = 19.9
    assert not breaker.allows()
    now[0] = 20.0
    assert breaker.allows()
    breaker.succeeded()
    assert [breaker.allows() for _ in range(3)] == [True] * 3


def test_a_trial_that_never_reports_does_not_block_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    breaker = CircuitBreaker(1, 10.0, lambda: now[0])
    breaker.failed()
    now[0] = 10.0
    assert breaker.allows()
    now[0] = 20.0
    assert breaker.allows()


def test_calls_return_raise_or_time_out() -> None:
    caller, release = DeadlineCaller(), threading.Event()
    assert caller.call(lambda: 5, 20.0) == 5
    with pytest.raises(KeyError):
        caller.call(lambda: {}[1], 20.0)  # type: ignore[index]
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"0\.1 s"):
        caller.call(lambda: release.wait(30), 0.1)
    assert time.monotonic() - started < 15
    release.set()


def test_over_a_number_of_hanging_calls_none_is_made() -> None:
    caller, release, made = DeadlineCaller(most_running=2), threading.Event(), []

    def hang() -> None:
        made.append(1)
        release.wait(30)

    for _ in range(2):
        with pytest.raises(TimeoutError):
            caller.call(hang, 0.05)
    with pytest.raises(TimeoutError, match="too many"):
        caller.call(hang, 30.0)
    release.set()
    assert len(made) <= 2
