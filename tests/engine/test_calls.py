"""What other threads want computed: the worker does it between its forwards, whatever goes wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
from engine.asks import RIVER, TOWN, ask
from torch import Tensor

from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.encode import encode_affixes
from ragcache.decoding.step import Step, forward
from ragcache.engine import Completion, Engine, LoadedModel
from ragcache.engine import pages as pages_module
from ragcache.engine import worker as worker_module
from ragcache.errors import EngineClosedError, WorkerDiedError
from ragcache.model.transformer import MaskPredictor
from ragcache.page import Page
from ragcache.threads import Call

LONG = DecodingOptions(max_tokens=24, block_length=2)
TEXTS = [f"Document {number} speaks of the river and of the old town." for number in range(6)]


@pytest.fixture
def builders(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that built pages."""
    threads: list[threading.Thread] = []

    def noted(predictor: MaskPredictor, affixes: Sequence[Sequence[int]], **how: object) -> list[Page]:
        threads.append(threading.current_thread())
        return encode_affixes(predictor, affixes, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(pages_module, "encode_affixes", noted)
    return threads


class Held:
    """The worker within its first forward; other threads queue calls before it goes on."""

    def __init__(self, engine: Engine, threads: ThreadPoolExecutor) -> None:
        self.engine, self.threads, self.go_on = engine, threads, threading.Event()
        self.running: Future[Completion] = Future()

    def queue(self, function: Callable[[], object]) -> Future[object]:
        """Another thread calls `function`, and has put a call into the queue when this returns."""
        queued, put = threading.Event(), self.engine._workers.waiting.put_call

        def told(call: Call[object]) -> None:
            put(call)
            queued.set()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.engine._workers.waiting, "put_call", told)
            future = self.threads.submit(function)
            assert queued.wait(60)
        return future


@contextmanager
def held(engine: Engine, on_forward: Callable[[], None] = lambda: None) -> Iterator[Held]:
    """A request whose first forward waits for `go_on`."""
    started = threading.Event()
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        one = Held(engine, stack.enter_context(ThreadPoolExecutor(4)))
        stack.callback(one.go_on.set)

        def waits(predictor: MaskPredictor, steps: Sequence[Step]) -> list[Tensor]:
            started.set()
            assert one.go_on.wait(60)
            on_forward()
            return forward(predictor, steps)

        patch.setattr(worker_module, "forward", waits)
        one.running = engine.submit(ask("runs", options=LONG))
        assert started.wait(60)
        yield one


def test_pages_are_built_by_the_worker_whoever_warms(
    engine: Engine, bare: Engine, builders: list[threading.Thread]
) -> None:
    requests = [ask(f"question {number}") for number in range(3)]
    futures = [engine.submit(request) for request in requests]
    with ThreadPoolExecutor(len(TEXTS)) as threads:
        found = list(threads.map(lambda text: engine.warm([text, TEXTS[0]]), TEXTS))
    assert {thread.name for thread in builders} == {"ragcache-engine"}
    built = [page for one in found for page in one.pages.values() if page.status == "built"]
    assert len({page.key for page in built}) == len(built) == len(TEXTS)
    expected = [completion.token_ids for completion in bare.generate(requests)]
    assert [future.result(60).token_ids for future in futures] == expected


def test_a_callback_may_warm(engine: Engine, builders: list[threading.Thread]) -> None:
    statuses = []

    def warm(*_: object) -> None:
        statuses.extend(page.status for page in engine.warm([RIVER]).pages.values())

    future = engine.submit(ask("hello"), warm)
    assert future.result(60).completion_tokens > 0
    done = threading.Event()
    engine.submit(ask("hello")).add_done_callback(lambda _: (warm(), done.set()))
    assert done.wait(60)
    assert statuses == ["built", *["hit"] * (len(statuses) - 1)]
    assert len(statuses) >= 2
    assert [thread.name for thread in builders] == ["ragcache-engine"]


def test_calls_are_served_in_turn_with_forwards(bare: Engine) -> None:
    order: list[str] = []
    with held(bare, lambda: order.append("forward")) as worker:
        calls = [worker.queue(lambda: bare._workers.run(lambda: order.append("call"))) for _ in range(3)]
        worker.go_on.set()
        worker.running.result(60)
        for call in calls:
            call.result(60)
    assert order[:7] == ["forward", "call"] * 3 + ["forward"]


def test_a_closed_engine_warms_nothing(model: LoadedModel) -> None:
    with Engine(model) as engine:
        errors: list[BaseException] = []

        def close_and_warm(_: Future[Completion]) -> None:
            engine.close()
            with pytest.raises(EngineClosedError) as caught:  # in the worker itself, which would have time
                engine.warm([RIVER])
            errors.append(caught.value)

        future = engine.submit(ask("hello"))
        future.add_done_callback(close_and_warm)
        future.result(60)
        engine._workers.worker.join(60)
        assert errors
    with pytest.raises(EngineClosedError):
        engine.warm([RIVER])


def test_who_waits_to_warm_learns_that_the_engine_was_closed(model: LoadedModel) -> None:
    with Engine(model) as engine, held(engine) as worker:
        warming = worker.queue(lambda: engine.warm([RIVER]))
        closing = worker.threads.submit(engine.close)
        assert isinstance(warming.exception(60), EngineClosedError)
        worker.go_on.set()
        closing.result(60)
        assert worker.running.result(60).completion_tokens > 0


def test_who_waits_to_warm_learns_that_the_worker_died_and_may_ask_again(engine: Engine) -> None:
    def die() -> None:
        raise SystemExit("stop")

    with held(engine, die) as worker:
        warming = worker.queue(lambda: engine.warm([RIVER]))
        worker.go_on.set()
        assert isinstance(warming.exception(60), WorkerDiedError)
    dead = engine._workers.worker
    dead.join(60)
    assert [page.status for page in engine.warm([RIVER]).pages.values()] == ["built"]
    assert engine._workers.worker is not dead


def test_what_goes_wrong_is_the_callers_and_the_worker_goes_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (RuntimeError("no memory"), KeyboardInterrupt()):
        with monkeypatch.context() as patch:
            patch.setattr(pages_module, "encode_affixes", lambda *_, e=error, **__: _raise(e))
            with pytest.raises(type(error)) as caught:
                engine.warm([RIVER])
        assert caught.value is error
    assert [page.status for page in engine.warm([RIVER, TOWN]).pages.values()] == ["built", "built"]
    assert engine.submit(ask("hello")).result(60).completion_tokens > 0


def _raise(error: BaseException) -> None:
    raise error
