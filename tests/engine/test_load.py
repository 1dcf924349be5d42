"""Many requests by chance: arrivals, cancellations, too little memory. Answers stay those of one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import replace

import pytest
from engine.asks import ask_about

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Engine, LoadedModel, Request
from ragcache.engine.kv_pool import Grant, KVPool
from ragcache.model.attention import Backend, GatherKV
from ragcache.model.segment_attention import SegmentBackend
from ragcache.registry import Registry

TINY = DecodingOptions(max_tokens=4, block_length=2)
AFFIXES = [f"The town number {n} is old, and near the river.\n" for n in range(50)]
POLICIES = (0.0, 0.2, 1.0)
KINDS, CALLERS = 36, 4
Asked = tuple[int, Future[Completion]]


def kinds_of_requests(draw: random.Random) -> list[Request]:
    """Requests over all affixes, up to two in each, in any order, with several policies."""
    left = draw.sample(AFFIXES, len(AFFIXES))
    kinds = []
    for n in range(KINDS):
        texts = [left.pop() for _ in range(2) if left] or draw.sample(AFFIXES, draw.randint(0, 2))
        options = replace(TINY, max_tokens=draw.choice([2, 4]))
        budget = POLICIES[n % len(POLICIES)]
        kinds.append(ask_about(*texts, question=f"{n}?", options=options, budget=budget))
    return kinds


def asked(engine: Engine, kinds: Sequence[Request], count: int, draw: random.Random) -> Iterator[Asked]:
    """Some come in bursts, some after others are done, some are cancelled: at once, or while others run."""
    running: list[Future[Completion]] = []
    for _ in range(count):
        number = draw.randrange(len(kinds))
        future = engine.submit(replace(kinds[number], priority=draw.randint(-2, 2)))
        running.append(future)
        chance = draw.random()
        if chance < 0.1:
            draw.choice(running).cancel()
        elif chance < 0.2:
            wait(running[: len(running) // 2])
        yield number, future


def by_callers(engine: Engine, kinds: Sequence[Request], count: int, seed: int) -> list[Asked]:
    """`count` requests, of several threads at the same time."""
    with ThreadPoolExecutor(CALLERS) as callers:
        draws = [random.Random(f"{seed}/{caller}") for caller in range(CALLERS)]
        asking = [
            callers.submit(lambda draw: [*asked(engine, kinds, count // CALLERS, draw)], draw)
            for draw in draws
        ]
        return [one for future in asking for one in future.result()]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Columns that were asked for and not there yet."""
    take, seen = KVPool.take, []

    def noted(pool: KVPool, columns: int) -> Grant | None:
        grant = take(pool, columns)
        if grant is None:
            seen.append(columns)
        return grant

    monkeypatch.setattr(KVPool, "take", noted)
    return seen


@pytest.mark.parametrize(("count", "backend"), [(200, GatherKV), (1000, SegmentBackend())])
def test_all_are_answered_as_one_by_one_or_cancelled_and_nothing_is_left(
    model: LoadedModel, registry: Registry, refused: list[int], count: int, backend: Backend
) -> None:
    kinds = kinds_of_requests(random.Random(count))
    with Engine(model, registry, max_batch=1, backend=backend) as serial:
        expected = [serial.generate([request])[0].token_ids for request in kinds]
        limit = 2 * serial.private_kv.peak_bytes
    with Engine(
        model, registry, max_batch=8, max_rows_per_step=96, kv_bytes=limit, backend=backend
    ) as engine:
        futures = by_callers(engine, kinds, count, seed=count)
        assert not wait([future for _, future in futures], timeout=300).not_done
        cancelled = 0
        for number, future in futures:
            try:
                assert future.result(timeout=0).token_ids == expected[number]
            except CancelledError:
                cancelled += 1
    assert len(futures) == count
    assert 0 < cancelled < count // 4
    assert refused  # memory was short
    assert limit // 2 < engine.private_kv.peak_bytes <= limit
    assert engine.private_kv.used_bytes == engine._residency.shared.size_bytes == 0
    assert all(slab.free.all_free for slab in engine.private_kv._slabs)
