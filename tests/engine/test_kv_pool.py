"""Private KV: counted to the byte, waited for, refused when it can never be had."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
import torch
from engine.asks import RIVER, TOWN, ask, ask_about
from torch import Tensor

from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import Step, forward
from ragcache.devices import Devices
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.engine import worker as worker_module
from ragcache.engine.kv_pool import Grant, KVPool
from ragcache.errors import ConfigError, RequestTooLargeError
from ragcache.model.attention import Backend, GatherKV, RequestKV
from ragcache.model.config import ModelConfig
from ragcache.model.private_memory import Columns, FreshMemory
from ragcache.model.segment import whole
from ragcache.model.segment_attention import SegmentBackend
from ragcache.model.transformer import MaskPredictor
from ragcache.page import Page
from reference.tiny import CONFIGS


class Watched:
    """A backend that knows the bytes of every KV that is still there."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.kvs: weakref.WeakSet[Any] = weakref.WeakSet()

    def __call__(self, *arguments: Any) -> RequestKV:
        kv = self.inner(*arguments)
        self.kvs.add(kv)
        return kv

    def private_columns(self, tokens: int, live: int) -> int:
        return self.inner.private_columns(tokens, live)

    def resident(self, page: Page, config: ModelConfig, dtype: torch.dtype, devices: Devices) -> Page:
        return self.inner.resident(page, config, dtype, devices)

    @property
    def size_bytes(self) -> int:
        return sum(layer.nbytes for kv in self.kvs for layer in (*kv.keys, *kv.values))


def needed(engine: Engine, request: Request) -> int:
    tokens = engine.tokenize(request.prompt).tokens + request.options.max_tokens
    return engine.model.predictor.kv_bytes(tokens)


CONFIG = CONFIGS["gqa"]
COLUMN = CONFIG.kv_elements_per_token * 4


class Counted(FreshMemory):
    """Notes how many columns it was asked for."""

    asked: ClassVar[list[int]] = []

    def take(self, columns: int) -> Columns:
        self.asked.append(columns)
        return super().take(columns)


def pool_of(columns: int | None) -> KVPool:
    Counted.asked.clear()
    memory = Counted(CONFIG, torch.float32, torch.device("cpu"))
    return KVPool(memory, COLUMN, columns and columns * COLUMN)


def granted(pool: KVPool, columns: int) -> Grant:
    grant = pool.take(columns)
    assert grant is not None
    return grant


def test_grants_add_up_and_go_back_to_zero() -> None:
    pool = pool_of(10)
    first, second = granted(pool, 6), granted(pool, 4)
    assert (pool.used_bytes, pool.take(1)) == (10 * COLUMN, None)
    first.take(3)
    first.take(5)
    first.settle()
    third = granted(pool, 1)
    for grant in (first, second, third, first):
        grant.release()
    assert (pool.used_bytes, pool.peak_bytes, pool.held_peak_bytes) == (0, 10 * COLUMN, 5 * COLUMN)
    granted(pool, 10)  # what was given back is one run again


def test_a_grant_is_zeros_of_its_own_in_one_slab_for_all() -> None:
    pool = pool_of(10)
    first, second = granted(pool, 4), granted(pool, 6)
    (keys, *_), (values, *_) = first.take(4)
    assert keys.shape == values.shape == (CONFIG.kv_heads, 4, CONFIG.head_dim)
    other = second.take(6)
    for layer in (*other[0], *other[1]):
        layer.fill_(float("nan"))
    assert not keys.any()
    assert not values.any()
    second.release()
    again = granted(pool, 5)
    assert not any(layer.any() for kind in again.take(5) for layer in kind)
    assert Counted.asked == [10]


def test_who_fits_no_gap_waits_until_gaps_join() -> None:
    pool = pool_of(10)
    grants = [granted(pool, n) for n in (3, 2, 3, 2)]
    grants[0].release()
    grants[2].release()
    assert pool.take(4) is None  # 6 are free, but not side by side
    grants[1].release()
    granted(pool, 8)


def test_without_a_limit_slabs_are_used_again_and_none_is_left_when_nothing_runs() -> None:
    pool = pool_of(None)
    first, second = granted(pool, 5), granted(pool, 4)
    first.take(5)
    second.take(4)
    first.release()
    granted(pool, 3).release()
    third = granted(pool, 5)
    third.take(5)
    assert Counted.asked == [5, 4]
    third.release()
    large = granted(pool, 6)  # the slab of 5 is too small, and goes
    large.take(6)
    assert [slab.free.size for slab in pool._slabs] == [4, 6]
    second.release()
    large.release()
    assert (pool._slabs, pool.used_bytes) == ([], 0)


def test_no_request_takes_more_than_it_was_granted() -> None:
    pool = pool_of(10)
    grant = granted(pool, 4)
    with pytest.raises(ConfigError, match=r"takes 5 columns .* granted 4"):
        grant.take(5)


def test_what_can_never_be_had_is_refused() -> None:
    with pytest.raises(RequestTooLargeError, match=f"needs {11 * COLUMN} bytes") as caught:
        pool_of(10).take(11)
    assert (caught.value.needed_bytes, caught.value.limit_bytes) == (11 * COLUMN, 10 * COLUMN)
    with pytest.raises(ConfigError, match="kv_bytes"):
        pool_of(0)
    granted(pool_of(None), 10**15)  # nothing is asked of torch before it is used


def test_what_is_counted_is_what_is_there(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, seen = Watched(GatherKV), []

    def weighed(predictor: MaskPredictor, steps: Sequence[Step]) -> list[Tensor]:
        seen.append((engine.private_kv.used_bytes, backend.size_bytes))
        return forward(predictor, steps)

    monkeypatch.setattr(worker_module, "forward", weighed)
    with Engine(model, backend=backend) as engine:
        engine.generate([ask_about(RIVER, TOWN), ask("short"), ask_about(TOWN, budget=0.0)])
    assert seen
    assert all(counted == there for counted, there in seen)
    assert engine.private_kv.used_bytes == backend.size_bytes == 0


def test_shared_pages_leave_the_private_part_to_the_live_rows(model: LoadedModel) -> None:
    used: list[int] = []
    with Engine(model, backend=SegmentBackend()) as engine:
        request = ask_about(RIVER, TOWN, budget=0.0)
        done = engine.submit(request, lambda text: used.append(engine.private_kv.used_bytes)).result(60)
        live = done.reuse.prompt_tokens - done.reuse.reused + request.options.max_tokens
        assert {*used} == {model.predictor.kv_bytes(live)}
        assert engine.private_kv.peak_bytes == model.predictor.kv_bytes(live)
        assert engine.private_kv.used_bytes == 0


@pytest.mark.parametrize("backend", [GatherKV, SegmentBackend()])
def test_a_comparison_takes_the_place_of_the_answer(model: LoadedModel, backend: Backend) -> None:
    request = ask_about(RIVER, compare=True)
    with Engine(model, backend=backend) as engine:
        engine.generate([request])
        assert engine.private_kv.peak_bytes == engine.private_kv.held_peak_bytes == needed(engine, request)


def test_anchored_requests_run_together_where_one_whole_prompt_would_fit(model: LoadedModel) -> None:
    short = DecodingOptions(max_tokens=8, block_length=4)
    texts = RIVER, TOWN, TOWN + RIVER
    requests = [ask_about(*texts, question=q, options=short, budget=0.1) for q in ("one?", "two?")]
    together: list[int] = []
    submitted = threading.Event()

    def look(steps: Sequence[Step], seconds: float) -> None:
        together.append(len(steps))
        assert engine.private_kv.used_bytes <= limit
        assert submitted.wait(30)

    with Engine(model, backend=SegmentBackend()) as serial:
        expected = [serial.generate([request])[0].token_ids for request in requests]
        limit = max(needed(serial, request) for request in requests)
    with Engine(model, backend=SegmentBackend(), kv_bytes=limit, on_forward=look) as engine:
        futures = [engine.submit(request) for request in requests]
        submitted.set()
        assert [future.result(60).token_ids for future in futures] == expected
    assert max(together) == 2
    assert engine.private_kv.used_bytes == 0
    assert limit / 2 < engine.private_kv.peak_bytes <= limit


def test_promoting_never_holds_old_and_new(model: LoadedModel, bare: Engine) -> None:
    (page,) = bare.warm([RIVER]).pages.values()
    config, cpu = model.predictor.config, torch.device("cpu")
    kv = SegmentBackend()(config, page.page.tokens + 9, [whole(page.page, 4)], model.predictor.dtype, cpu)
    assert kv.size_bytes == model.predictor.kv_bytes(9)
    promoted = kv.promote(torch.tensor([5, 6]))
    assert (kv.size_bytes, promoted.size_bytes) == (0, model.predictor.kv_bytes(11))


def test_requests_wait_for_memory_and_one_that_is_too_large_harms_nobody(
    model: LoadedModel, bare: Engine
) -> None:
    requests = [ask_about(RIVER, question=f"Question {n}?") for n in range(4)]
    expected = [completion.token_ids for completion in bare.generate(requests)]
    limit = max(needed(bare, request) for request in requests)  # one at a time
    large = replace(ask_about(RIVER, TOWN), options=DecodingOptions(64, 8))
    with Engine(model, kv_bytes=limit) as engine:
        futures = [engine.submit(request) for request in (*requests[:2], large, *requests[2:])]
        with pytest.raises(RequestTooLargeError):
            futures.pop(2).result(60)
        assert [future.result(60).token_ids for future in futures] == expected
    assert engine.private_kv.peak_bytes == limit
    assert engine.private_kv.used_bytes == 0
