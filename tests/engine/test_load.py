"""Many requests by chance: arrivals, cancellations, too little memory. Answers stay those of one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, wait
from dataclasses import replace

import pytest
from engine.asks import ask_about

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Engine, LoadedModel, Request
from ragcache.model.attention import Backend, GatherKV
from ragcache.model.segment_attention import SegmentBackend
from ragcache.registry import Registry

TINY = DecodingOptions(max_tokens=4, block_length=2)
AFFIXES = [f"The town number {n} is old, and near the river.\n" for n in range(6)]
POLICIES = (0.0, 0.2, 1.0)
REQUESTS = 200


def kinds_of_requests(draw: random.Random) -> list[Request]:
    """Twelve requests over several affixes in any order, with several policies."""
    return [
        ask_about(
            *draw.sample(AFFIXES, draw.randint(0, 2)),
            question=f"{n}?",
            options=replace(TINY, max_tokens=draw.choice([2, 4])),
            budget=POLICIES[n % len(POLICIES)],
        )
        for n in range(12)
    ]


def asked(
    engine: Engine, kinds: list[Request], draw: random.Random
) -> Iterator[tuple[int, Future[Completion]]]:
    """Some come in bursts, some after others are done, some are cancelled: at once, or while others run."""
    running: list[Future[Completion]] = []
    for _ in range(REQUESTS):
        number = draw.randrange(len(kinds))
        future = engine.submit(replace(kinds[number], priority=draw.randint(-2, 2)))
        running.append(future)
        chance = draw.random()
        if chance < 0.1:
            draw.choice(running).cancel()
        elif chance < 0.2:
            wait(running[: len(running) // 2])
        yield number, future


@pytest.mark.parametrize(("seed", "backend"), [(1, GatherKV), (2, SegmentBackend())])
def test_all_are_answered_as_one_by_one_or_cancelled_and_nothing_is_left(
    model: LoadedModel, registry: Registry, seed: int, backend: Backend
) -> None:
    draw = random.Random(seed)
    kinds = kinds_of_requests(draw)
    with Engine(model, registry, max_batch=1, backend=backend) as serial:
        expected = [serial.generate([request])[0].token_ids for request in kinds]
        limit = 2 * serial.private_kv.peak_bytes
    with Engine(
        model, registry, max_batch=8, max_rows_per_step=96, kv_bytes=limit, backend=backend
    ) as engine:
        futures = [*asked(engine, kinds, draw)]
        wait([future for _, future in futures], timeout=120)
        cancelled = 0
        for number, future in futures:
            try:
                assert future.result(timeout=0).token_ids == expected[number]
            except CancelledError:
                cancelled += 1
    assert 0 < cancelled < REQUESTS // 4
    assert limit // 2 < engine.private_kv.peak_bytes <= limit  # more would have fitted the batch
    assert engine.private_kv.used_bytes == 0
    assert engine._residency.shared.size_bytes == 0
