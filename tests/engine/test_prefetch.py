"""Pages of waiting requests come into memory early; nothing waits for it, and nothing fails by it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine.asks import RIVER, TOWN, ask, ask_about

from ragcache.engine import Completion, Engine, LoadedModel, Request
from ragcache.engine.job import Job
from ragcache.engine.prefetch import Prefetcher
from ragcache.prompt import Prompt, TokenizedPrompt, tokenize
from ragcache.registry import Registry


def wait_until(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


@pytest.mark.parametrize("prefetch", [True, False])
def test_pages_of_a_waiting_request_are_in_memory_before_it_starts(
    model: LoadedModel, store: Path, prefetch: bool
) -> None:
    with Registry(store) as registry, Engine(model, registry) as engine:
        engine.generate([ask_about(TOWN)])
    go_on, first_runs = threading.Event(), threading.Event()

    def hold(text: str) -> None:
        first_runs.set()
        go_on.wait(30)

    with Registry(store) as registry, Engine(model, registry, max_batch=1, prefetch=prefetch) as engine:
        first = engine.submit(ask_about(RIVER), hold)
        assert first_runs.wait(30)
        before = registry._memory.size_bytes
        waiting = engine.submit(ask_about(TOWN))
        pulled = wait_until(lambda: registry._memory.size_bytes > before) if prefetch else False
        assert pulled == prefetch
        assert registry.stats().hits == 0
        go_on.set()
        first.result(30)
        assert [use.status for use in waiting.result(30).reuse.affixes] == ["hit"]
        assert registry.stats().hits == 1


def waiting() -> Job:
    return Job(ask("hello"), lambda text: None)


def test_what_fails_is_logged_and_the_next_one_is_served(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Job] = []

    def pull(job: Job) -> None:
        seen.append(job)
        if len(seen) == 1:
            raise RuntimeError("broken store")

    prefetcher = Prefetcher(pull, most=4)
    one, begun, cancelled, two = (waiting() for _ in range(4))
    begun.begun = cancelled.future.cancel()
    with caplog.at_level(logging.INFO):
        for job in (one, begun, cancelled, two):
            prefetcher.offer(job)
        assert wait_until(lambda: len(seen) == 2)
        prefetcher.close()
    assert seen == [one, two]
    assert "broken store" in caplog.text


def test_a_full_queue_takes_no_more_and_closing_drops_what_waits() -> None:
    go_on, seen = threading.Event(), []

    def pull(job: Job) -> None:
        seen.append(job)
        go_on.wait(30)

    prefetcher, first = Prefetcher(pull, most=2), waiting()
    offer = [prefetcher.offer(first)]
    assert wait_until(lambda: seen == [first])
    offer += [prefetcher.offer(waiting()) for _ in range(3)]
    assert offer == [True, True, True, False]
    threading.Timer(0.1, go_on.set).start()
    prefetcher.close()
    assert seen == [first]


def test_no_thread_that_computed_is_kept() -> None:
    threads: list[threading.Thread] = []
    prefetcher = Prefetcher(lambda job: threads.append(threading.current_thread()), most=2)
    for number in range(2):
        prefetcher.offer(waiting())
        assert wait_until(lambda n=number: len(threads) > n)  # type: ignore[misc]
    prefetcher.close()
    assert len(set(threads)) == 2
    assert not any(thread.is_alive() for thread in threads)


@pytest.fixture
def tokenized(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The prompts that engines tokenised."""
    prompts: list[object] = []

    def noted(prompt: Prompt | str, *rest: Any, **how: Any) -> TokenizedPrompt:
        prompts.append(prompt)
        return tokenize(prompt, *rest, **how)

    monkeypatch.setattr("ragcache.engine.engine.tokenize", noted)
    return prompts


class Waits:
    """A request that waits, tokenised already, behind one that runs until it is answered."""

    def __init__(self, engine: Engine, request: Request) -> None:
        started, self.go_on = threading.Event(), threading.Event()

        def hold(text: str) -> None:
            started.set()
            self.go_on.wait(30)

        self.running = engine.submit(ask("runs"), hold)
        assert started.wait(30)
        self.future = engine.submit(request)
        job = engine._workers.waiting.head()
        assert job is not None
        assert wait_until(lambda: job.ready is not None)

    def answer(self) -> Completion:
        self.go_on.set()
        self.running.result(30)
        return self.future.result(30)


def test_a_waiting_request_is_tokenised_once(
    model: LoadedModel, registry: Registry, tokenized: list[object]
) -> None:
    request = ask_about(RIVER)
    registry.register("river", RIVER)
    with Engine(model, registry, max_batch=1) as engine:
        assert Waits(engine, request).answer().reuse.affixes[0].status == "built"
    assert tokenized.count(request.prompt) == 1


def test_what_was_registered_or_removed_while_a_request_waited_is_heeded(
    model: LoadedModel, registry: Registry, store: Path, tokenized: list[object]
) -> None:
    registry.register("river", RIVER)
    request = ask(RIVER, TOWN, "How long is it?")  # unmarked
    with Engine(model, registry, max_batch=1) as engine, Registry(store) as other:
        waits = Waits(engine, request)
        other.register("town", TOWN)
        other.remove("river")
        answer = waits.answer()
        assert [(use.name, use.status) for use in answer.reuse.affixes] == [("town", "built")]
        assert len(registry.pages()) == 1  # none of the text that was forgotten
        assert tokenized.count(request.prompt) == 2
        assert answer.token_ids == engine.submit(request).result(30).token_ids
