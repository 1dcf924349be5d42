"""Who takes part in forwards: joining and leaving, waiting in turn, being late, a thread that dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import SimpleNamespace

import pytest
from engine.asks import RIVER, TOWN, ask, ask_about

from ragcache.decoding.commit import FixedSteps
from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import Step
from ragcache.engine import Engine, LoadedModel
from ragcache.engine.scheduler import Scheduler
from ragcache.errors import RequestTimeoutError, WorkerDiedError

STEPS = DecodingOptions(24, 24, FixedSteps(12))  # one refresh, then refines
REFRESHES = DecodingOptions(24, 1)  # every step computes all rows
WAIT_S = 600.0  # never as long, unless something hangs
Late = Callable[[], None]


class Watch:
    """Notes the kinds of every forward's steps; the first forward ends when `go_on` is set."""

    def __init__(self) -> None:
        self.kinds: list[list[str]] = []
        self.started, self.go_on = threading.Event(), threading.Event()

    def __call__(self, steps: Sequence[Step], seconds: float) -> None:
        self.kinds.append([step.kind for step in steps])
        self.started.set()
        assert self.go_on.wait(WAIT_S)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Late:
    """Puts the clock by which requests are late forward by 100 s."""
    ahead_s = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead_s[0])
    monkeypatch.setattr("ragcache.engine.job.time", clock)
    return lambda: ahead_s.__setitem__(0, 100.0)


def test_a_request_joins_between_two_steps_and_leaves_before_the_others_are_done(model: LoadedModel) -> None:
    long, short = ask("long", options=STEPS), ask("short", options=DecodingOptions(2, 2, FixedSteps(2)))
    with Engine(model) as engine:
        expected = [engine.generate([request])[0].token_ids for request in (long, short)]
    sizes: list[int] = []
    joined = []

    def look(steps: Sequence[Step], seconds: float) -> None:
        sizes.append(len(steps))
        if len(sizes) == 3:
            joined.append(engine.submit(short))

    with Engine(model, on_forward=look) as engine:
        first = engine.submit(long)
        assert first.result(WAIT_S).token_ids == expected[0]
        assert joined[0].result(WAIT_S).token_ids == expected[1]
    assert sizes == [1, 1, 1, 2, 2, *[1] * 7]


def test_no_refine_waits_for_more_urgent_refreshes_beyond_the_bound(model: LoadedModel) -> None:
    slow = ask("slow", options=STEPS, priority=-9)
    urgent = [ask(f"hot{n}", options=REFRESHES, priority=9) for n in range(3)]
    watch, scheduler = Watch(), Scheduler()
    with Engine(model) as engine:
        rows = max(engine.tokenize(request.prompt).tokens for request in urgent) + REFRESHES.max_tokens
    with Engine(model, max_rows_per_step=rows, on_forward=watch) as engine:
        futures = [engine.submit(request) for request in (slow, *urgent)]
        watch.go_on.set()
        for future in futures:
            future.result(WAIT_S)
    turns = [number for number, kinds in enumerate(watch.kinds) if "refine" in kinds]
    waits = [after - before - 1 for before, after in pairwise(turns)]
    assert scheduler.patience <= max(waits) <= scheduler.patience + len(futures) - 1


def test_probes_of_several_requests_share_a_forward(model: LoadedModel) -> None:
    watch = Watch()
    with Engine(model, on_forward=watch) as engine:
        futures = [engine.submit(ask("runs already", options=STEPS))]
        assert watch.started.wait(WAIT_S)
        futures += [engine.submit(ask_about(RIVER, TOWN, question=f"{n}?")) for n in range(3)]
        watch.go_on.set()
        for future in futures:
            future.result(WAIT_S)
    assert max(kinds.count("probe") for kinds in watch.kinds) == 3


def test_a_late_request_is_told_at_its_next_step_and_the_others_go_on(model: LoadedModel, late: Late) -> None:
    watch = Watch()
    with Engine(model, on_forward=watch) as engine:
        hurried = engine.submit(ask("hurried", options=STEPS, timeout_s=50.0))
        assert watch.started.wait(WAIT_S)
        patient = engine.submit(ask("patient", options=STEPS))
        late()
        watch.go_on.set()
        with pytest.raises(RequestTimeoutError, match="no answer within 50 s"):
            hurried.result(WAIT_S)
        assert patient.result(WAIT_S).forwards == 12
    assert [len(kinds) for kinds in watch.kinds] == [1] * 13  # one of the hurried request, 12 of the patient
    assert engine.private_kv.used_bytes == 0


def test_who_is_late_before_its_turn_costs_no_forward(model: LoadedModel, late: Late) -> None:
    watch = Watch()
    with Engine(model, max_batch=1, on_forward=watch) as engine:
        first = engine.submit(ask("first", options=STEPS))
        assert watch.started.wait(WAIT_S)
        waiting = engine.submit(ask("waiting", options=STEPS, timeout_s=50.0))
        late()
        watch.go_on.set()
        assert isinstance(waiting.exception(WAIT_S), RequestTimeoutError)
        assert first.result(WAIT_S).forwards == len(watch.kinds) == 12


def test_a_stream_learns_that_the_thread_died(model: LoadedModel) -> None:
    forwards: list[int] = []

    def die(steps: Sequence[Step], seconds: float) -> None:
        forwards.append(len(steps))
        if len(forwards) == 3:
            raise SystemExit("stop")

    with Engine(model, on_forward=die) as engine:
        with pytest.raises(WorkerDiedError, match="ask again"):
            list(engine.stream(ask("go on", options=REFRESHES)))
        assert engine.generate([ask("again", options=STEPS)])[0].forwards == 12
