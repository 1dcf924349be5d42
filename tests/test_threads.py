"""Computing in a thread that ends with it."""

from __future__ import annotations

import threading

import pytest

from ragcache.errors import EngineClosedError
from ragcache.threads import Call, in_own_thread


def test_it_runs_elsewhere_and_nothing_stays() -> None:
    thread = in_own_thread(threading.current_thread)
    assert thread is not threading.current_thread()
    assert not thread.is_alive()


@pytest.mark.parametrize("error", [ValueError("what was wrong"), KeyboardInterrupt()])
def test_errors_are_the_callers(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        in_own_thread(fail)
    assert caught.value is error


def test_nobody_computes_for_who_went_away() -> None:
    ran: list[int] = []
    call = Call(lambda: ran.append(1))
    call.future.cancel()
    call.run()
    assert ran == []


def test_a_call_that_is_failed_is_not_run() -> None:
    ran: list[int] = []
    call = Call(lambda: ran.append(1))
    call.fail(EngineClosedError("closed"))
    with pytest.raises(EngineClosedError):
        call.result()
    assert ran == []


def test_an_error_holds_nothing_of_what_was_computed() -> None:
    held: list[object] = []

    def fail() -> None:
        large = bytearray(9)
        raise ValueError(len(large))

    with pytest.raises(ValueError, match="9") as caught:
        in_own_thread(fail)
    trace = caught.value.__traceback__
    while trace is not None:
        held += trace.tb_frame.f_locals.values()
        trace = trace.tb_next
    assert not any(isinstance(one, bytearray) for one in held)
