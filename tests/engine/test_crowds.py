"""Thousands that wait, and a thousand that come and go: nobody is lost, nothing is left."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, wait
from dataclasses import replace

import pytest
from engine.asks import ask, ask_about

from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import Step
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.errors import EngineBusyError, EngineClosedError
from ragcache.model.segment_attention import SegmentBackend
from ragcache.registry import Registry

ONE = DecodingOptions(1, 1)
MANY = 3000
WAIT_S = 600.0  # never as long, unless something hangs


class Hold:
    """Keeps the engine in its first forward until `go_on` is set."""

    def __init__(self) -> None:
        self.forwards = 0
        self.started, self.go_on = threading.Event(), threading.Event()

    def __call__(self, steps: Sequence[Step], seconds: float) -> None:
        self.forwards += 1
        self.started.set()
        assert self.go_on.wait(WAIT_S)


def test_of_thousands_that_wait_those_who_leave_cost_nothing_and_the_rest_is_answered(
    model: LoadedModel,
) -> None:
    hold = Hold()
    with Engine(model, max_batch=1, max_waiting=MANY, on_forward=hold) as engine:
        first = engine.submit(ask("runs", options=ONE))
        assert hold.started.wait(WAIT_S)
        futures = [engine.submit(ask(f"waits {n}", options=ONE)) for n in range(MANY)]
        with pytest.raises(EngineBusyError, match=f"{MANY} requests are waiting"):
            engine.submit(ask("one too many", options=ONE))
        left = [future for number, future in enumerate(futures) if number % 1000]
        assert all(future.cancel() for future in left)
        assert not wait(left, timeout=WAIT_S).not_done
        hold.go_on.set()
        answered = [first, *futures[::1000]]
        assert [future.result(WAIT_S).forwards for future in answered] == [1] * 4
    assert hold.forwards == 4
    assert engine.private_kv.used_bytes == 0


def test_closing_tells_thousands_that_wait(model: LoadedModel) -> None:
    hold = Hold()
    engine = Engine(model, max_batch=1, on_forward=hold)
    first = engine.submit(ask("runs", options=ONE))
    assert hold.started.wait(WAIT_S)
    futures = [engine.submit(ask(f"waits {n}", options=ONE)) for n in range(MANY)]
    closing = threading.Thread(target=engine.close)
    closing.start()
    assert not wait(futures, timeout=WAIT_S).not_done
    assert all(isinstance(future.exception(), EngineClosedError) for future in futures)
    hold.go_on.set()
    closing.join(WAIT_S)
    assert first.result(WAIT_S).forwards == 1
    assert hold.forwards == 1


AFFIXES = [f"The town number {n} is old, and near the river.\n" for n in range(50)]
REQUESTS = 1000


def fifty_kinds(draw: random.Random) -> list[Request]:
    """One about each affix, with up to two others around it, of several lengths and budgets."""
    kinds = []
    for number, own in enumerate(AFFIXES):
        documents = [own, *draw.sample(AFFIXES, draw.randint(0, 2))]
        draw.shuffle(documents)
        options, budget = DecodingOptions(draw.choice([2, 4]), 2), draw.choice([0.0, 0.2, 1.0])
        kinds.append(ask_about(*documents, question=f"{number}?", options=options, budget=budget))
    return kinds


@pytest.mark.slow
def test_a_thousand_requests_over_fifty_affixes_come_and_go(model: LoadedModel, registry: Registry) -> None:
    draw = random.Random(7)
    kinds = fifty_kinds(draw)
    with Engine(model, registry, max_batch=1, backend=SegmentBackend()) as serial:
        serial.warm(AFFIXES)
        expected = [serial.generate([request])[0].token_ids for request in kinds]
        limit = 2 * serial.private_kv.peak_bytes
    with Engine(
        model, registry, max_batch=8, max_rows_per_step=128, kv_bytes=limit, backend=SegmentBackend()
    ) as engine:
        asked = [draw.randrange(len(kinds)) for _ in range(REQUESTS)]
        futures = []
        for number in asked:
            futures.append(engine.submit(replace(kinds[number], priority=draw.randint(-2, 2))))
            chance = draw.random()
            if chance < 0.1:
                draw.choice(futures).cancel()
            elif chance < 0.15:  # the next ones come after a burst is done
                wait(futures)
        assert not wait(futures, timeout=WAIT_S).not_done
        cancelled = 0
        for number, future in zip(asked, futures, strict=True):
            try:
                assert future.result(timeout=0).token_ids == expected[number]
            except CancelledError:
                cancelled += 1
    assert 0 < cancelled < REQUESTS // 5
    assert limit // 2 < engine.private_kv.peak_bytes <= limit  # some waited for memory
    assert engine.private_kv.used_bytes == engine._residency.shared.size_bytes == 0
    assert registry.stats().entries == len(AFFIXES)
