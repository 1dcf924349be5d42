"""The engine's thread: who shares a forward, what happens when the thread dies, closing while streaming."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from engine.asks import RIVER, ask, ask_about
from torch import Tensor

from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import Step, forward
from ragcache.engine import Completion, Engine, LoadedModel
from ragcache.engine import worker as worker_module
from ragcache.engine.worker import Worker
from ragcache.errors import (
    ConfigError,
    EngineBusyError,
    EngineClosedError,
    RequestTimeoutError,
    WorkerDiedError,
)
from ragcache.model.transformer import MaskPredictor

LONG = DecodingOptions(max_tokens=24, block_length=2)
ONE = DecodingOptions(max_tokens=1, block_length=1, min_tokens=1)
Watch = Callable[[Callable[[Sequence[Step]], None]], None]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Calls a function with the steps of every forward, before it."""

    def install(look: Callable[[Sequence[Step]], None]) -> None:
        def watched(predictor: MaskPredictor, steps: Sequence[Step]) -> list[Tensor]:
            look(steps)
            return forward(predictor, steps)

        monkeypatch.setattr(worker_module, "forward", watched)

    return install


def test_forwards_keep_to_the_rows_and_mix_refreshes_with_refines(model: LoadedModel, watch: Watch) -> None:
    requests = [ask(f"question {n}", options=LONG) for n in range(4)]
    with Engine(model, max_batch=4) as engine:
        expected = [completion.token_ids for completion in engine.generate(requests)]
        largest = max(engine.tokenize(request.prompt).tokens for request in requests) + LONG.max_tokens
    sizes, kinds = [], []

    def look(steps: Sequence[Step]) -> None:
        sizes.append(sum(len(step.positions) for step in steps))
        kinds.append({step.kind for step in steps})

    watch(look)
    with Engine(model, max_batch=4, max_rows_per_step=largest + 4) as engine:
        assert [completion.token_ids for completion in engine.generate(requests)] == expected
    assert max(sizes) <= largest + 4
    assert {"refresh", "refine"} in kinds


def test_every_forward_is_told_with_its_steps_and_seconds(model: LoadedModel) -> None:
    told: list[tuple[Sequence[Step], float]] = []
    with Engine(model, on_forward=lambda steps, seconds: told.append((steps, seconds))) as engine:
        completions = engine.generate([ask_about(RIVER), ask("question")])
    assert sum(len(steps) for steps, _ in told) == sum(one.forwards for one in completions)
    assert sum(step.kind == "refresh" for steps, _ in told for step in steps) == sum(
        one.refreshes for one in completions
    )
    assert all(seconds > 0 for _, seconds in told)


def test_a_dead_thread_is_reported_to_every_waiter_and_replaced(model: LoadedModel, watch: Watch) -> None:
    both, deadly = threading.Event(), threading.Event()

    def die_once(steps: Sequence[Step]) -> None:
        assert both.wait(30)
        if not deadly.is_set():
            deadly.set()
            raise SystemExit("stop")

    watch(die_once)
    with Engine(model, max_batch=2) as engine:
        dead = engine._workers.worker
        futures = [engine.submit(ask_about(RIVER, question=f"{n}?")) for n in range(5)]
        both.set()
        for future in futures:
            error = future.exception(timeout=60)
            assert isinstance(error, WorkerDiedError)
            assert isinstance(error.__cause__, SystemExit)
        assert engine.private_kv.used_bytes == engine._residency.shared.size_bytes == 0
        assert engine.submit(ask("again")).result(timeout=60).completion_tokens > 0
        assert engine._workers.worker is not dead
    assert not engine._workers.worker.is_alive()


def test_an_idle_thread_ends_and_the_next_request_gets_another(bare: Engine) -> None:
    first = bare.generate([ask_about(RIVER)])
    idle = bare._workers.worker
    idle.join(60)
    assert not idle.is_alive()
    assert bare.generate([ask_about(RIVER)])[0].token_ids == first[0].token_ids
    assert bare._workers.worker is not idle
    assert bare.warm([RIVER]).pages


def test_nothing_is_lost_when_it_comes_as_the_thread_ends(
    bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "LINGER_S", 1e-4)
    workers = set()
    for pause in range(40):
        time.sleep(1e-4 * (pause % 4))
        assert bare.submit(ask("hello", options=ONE)).result(60).completion_tokens == 1
        assert bare.warm([RIVER]).pages
        workers.add(bare._workers.worker)
    assert len(workers) > 1


def test_an_error_does_not_keep_the_kv_of_its_request(bare: Engine, watch: Watch) -> None:
    def fail(steps: Sequence[Step]) -> None:
        if steps[0].kind == "refine":
            raise RuntimeError("boom")

    watch(fail)
    error = bare.submit(ask("hello")).exception(timeout=60)
    assert isinstance(error, RuntimeError)
    trace, held = error.__traceback__, []
    while trace is not None:
        held += trace.tb_frame.f_locals.values()
        trace = trace.tb_next
    assert not any(isinstance(one, (Step, list, tuple)) for one in held)
    assert bare.private_kv.used_bytes == 0


def test_a_stream_ends_well_when_the_engine_is_closed_under_it(model: LoadedModel) -> None:
    request = ask("go on", options=LONG)
    with Engine(model) as engine:
        expected = engine.generate([request])[0].text
    engine = Engine(model, max_batch=1)
    running = engine.stream(request)
    pieces = [next(running)]
    waiting = engine.submit(ask("too late", options=LONG))
    with ThreadPoolExecutor(1) as threads:
        closing = threads.submit(engine.close)
        pieces += running
        closing.result(timeout=60)
    assert "".join(pieces) == expected
    assert waiting.done()
    with pytest.raises(EngineClosedError):
        next(engine.stream(request))


def test_a_busy_engine_refuses_and_goes_on(model: LoadedModel, watch: Watch) -> None:
    started, go_on = threading.Event(), threading.Event()

    def hold(steps: Sequence[Step]) -> None:
        started.set()
        assert go_on.wait(30)

    watch(hold)
    with Engine(model, max_batch=1, max_waiting=2) as engine:
        futures = [engine.submit(ask("runs"))]
        assert started.wait(30)
        futures += [engine.submit(ask(f"waits {n}")) for n in range(2)]
        with pytest.raises(EngineBusyError):
            engine.submit(ask("one too many"))
        go_on.set()
        assert all(future.result(timeout=60).completion_tokens for future in futures)
        assert len(engine.generate([ask(f"{n}?") for n in range(6)])) == 6  # waits for room by itself


def test_the_more_urgent_of_those_that_wait_starts_first(model: LoadedModel, watch: Watch) -> None:
    started, go_on, done = threading.Event(), threading.Event(), []

    def hold(steps: Sequence[Step]) -> None:
        started.set()
        assert go_on.wait(30)

    watch(hold)
    with Engine(model, max_batch=1) as engine:
        engine.submit(ask("runs"))
        assert started.wait(30)
        for name, priority in (("usual", 0), ("low", -1), ("high", 1)):
            future = engine.submit(ask(name, priority=priority))
            future.add_done_callback(lambda _, name=name: done.append(name))  # type: ignore[misc]
        go_on.set()
        future.result(timeout=60)
        engine.generate([ask("last", priority=-9)])
    assert done == ["high", "usual", "low"]


def test_a_priority_is_a_whole_number() -> None:
    with pytest.raises(ConfigError, match=r"0\.5 is no whole number"):
        ask("hello", priority=0.5)


def test_a_request_that_waits_past_its_deadline_is_told_while_others_run(
    model: LoadedModel, watch: Watch
) -> None:
    late: list[bool] = []

    def look(steps: Sequence[Step]) -> None:
        if not late:
            hurried.append(engine.submit(ask("hurried", timeout_s=1e-3)))
            time.sleep(2e-3)
        late.append(hurried[0].done())

    hurried: list[Future[Completion]] = []
    watch(look)
    with Engine(model, max_batch=1) as engine:
        engine.submit(ask("runs long", options=LONG)).result(60)
        assert isinstance(hurried[0].exception(1), RequestTimeoutError)
    assert late[:2] == [False, True]
    assert len(late) > 2


def test_callbacks_that_exit_take_nobody_else_with_them(model: LoadedModel, watch: Watch) -> None:
    go_on = threading.Event()

    def leave(_: Future[Completion]) -> None:
        raise SystemExit("a callback")

    def die(steps: Sequence[Step]) -> None:
        assert go_on.wait(30)
        raise SystemExit("stop")

    watch(die)
    with Engine(model, max_batch=2) as engine:
        futures = [engine.submit(ask(f"{n}?")) for n in range(4)]
        for future in futures[:-1]:
            future.add_done_callback(leave)
        go_on.set()
        assert all(isinstance(future.exception(30), WorkerDiedError) for future in futures)
        assert engine.private_kv.used_bytes == 0


def test_a_callback_that_exits_ends_no_thread(bare: Engine, watch: Watch) -> None:
    go_on = threading.Event()

    def leave(_: Future[Completion]) -> None:
        raise SystemExit("a callback")

    watch(lambda steps: assert_waited(go_on))
    first, other = bare.submit(ask("one", options=ONE)), bare.submit(ask("two", options=LONG))
    first.add_done_callback(leave)
    go_on.set()
    assert first.result(30).completion_tokens == 1
    assert other.result(30).completion_tokens > 0


def assert_waited(event: threading.Event) -> None:
    assert event.wait(30)


def test_without_room_for_a_thread_whoever_waits_is_told_and_the_next_may_ask(
    bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(worker: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    bare._workers.worker.join(60)
    with monkeypatch.context() as patched:
        patched.setattr(Worker, "start", refuse)
        assert isinstance(bare.submit(ask("hello")).exception(30), WorkerDiedError)
        with pytest.raises(WorkerDiedError, match="can't start new thread"):
            bare.warm([RIVER])
    assert bare.submit(ask("hello", options=ONE)).result(30).completion_tokens == 1


def test_a_worker_that_is_gone_without_a_word_is_replaced(bare: Engine) -> None:
    bare._workers.worker.join(60)
    bare._workers.waiting.attend()  # as after a fork: nobody said that no thread came along
    assert bare.submit(ask("hello", options=ONE)).result(30).completion_tokens == 1
