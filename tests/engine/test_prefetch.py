"""Pages of waiting requests come into memory early; nothing waits for it, and nothing fails by it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from engine.asks import RIVER, TOWN, ask_about

from ragcache.engine import Engine, LoadedModel
from ragcache.engine.prefetch import Prefetcher
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


def test_what_fails_is_logged_and_the_next_one_is_served(caplog: pytest.LogCaptureFixture) -> None:
    seen = []

    def pull(request: object) -> None:
        seen.append(request)
        if len(seen) == 1:
            raise RuntimeError("broken store")

    prefetcher = Prefetcher(pull, most=4)  # type: ignore[arg-type]
    with caplog.at_level(logging.INFO):
        for request in ("one", "begun", "two"):
            prefetcher.offer(request, lambda request=request: request == "begun")  # type: ignore[arg-type, misc]
        assert wait_until(lambda: len(seen) == 2)
        prefetcher.close()
    assert seen == ["one", "two"]
    assert "broken store" in caplog.text


def test_a_full_queue_takes_no_more_and_closing_drops_what_waits() -> None:
    go_on, seen = threading.Event(), []

    def pull(request: object) -> None:
        seen.append(request)
        go_on.wait(30)

    prefetcher = Prefetcher(pull, most=2)  # type: ignore[arg-type]
    offer = [prefetcher.offer("first", lambda: False)]  # type: ignore[arg-type]
    assert wait_until(lambda: seen == ["first"])
    offer += [prefetcher.offer("more", lambda: False) for _ in range(3)]  # type: ignore[arg-type]
    assert offer == [True, True, True, False]
    threading.Timer(0.1, go_on.set).start()
    prefetcher.close()
    assert seen == ["first"]
