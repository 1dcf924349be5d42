"""Private KV: counted to the byte, waited for, refused when it can never be had."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from engine.asks import RIVER, TOWN, ask, ask_about
from torch import Tensor

from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import Step, forward
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.engine import worker as worker_module
from ragcache.engine.kv_budget import KVBudget
from ragcache.errors import ConfigError, RequestTooLargeError
from ragcache.model.attention import Backend, GatherKV, RequestKV
from ragcache.model.segment import whole
from ragcache.model.segment_attention import SegmentBackend
from ragcache.model.transformer import MaskPredictor


class Watched:
    """A backend that knows the bytes of every KV that is still there."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.kvs: weakref.WeakSet[Any] = weakref.WeakSet()

    def __call__(self, *arguments: Any) -> RequestKV:
        kv = self.inner(*arguments)
        self.kvs.add(kv)
        return kv

    @property
    def size_bytes(self) -> int:
        return sum(layer.nbytes for kv in self.kvs for layer in (*kv.keys, *kv.values))


def needed(engine: Engine, request: Request) -> int:
    tokens = engine.tokenize(request.prompt).tokens + request.options.max_tokens
    return engine.model.predictor.kv_bytes(tokens)


def test_grants_add_up_and_go_back_to_zero() -> None:
    budget = KVBudget(10)
    first, second = budget.take(6), budget.take(4)
    assert first is not None
    assert second is not None
    assert (budget.used_bytes, budget.take(1)) == (10, None)
    first.keep(5)
    third = budget.take(1)
    assert third is not None
    for grant in (first, second, third, first):
        grant.release()
    assert (budget.used_bytes, budget.peak_bytes) == (0, 10)


def test_what_can_never_be_had_is_refused() -> None:
    with pytest.raises(RequestTooLargeError, match="needs 11 bytes") as caught:
        KVBudget(10).take(11)
    assert (caught.value.needed_bytes, caught.value.limit_bytes) == (11, 10)
    with pytest.raises(ConfigError, match="kv_bytes"):
        KVBudget(0)
    assert KVBudget().take(10**15) is not None


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
        assert engine.private_kv.peak_bytes == needed(engine, request)
        assert engine.private_kv.used_bytes == 0


def test_a_comparison_is_counted_too(bare: Engine) -> None:
    request = ask_about(RIVER, compare=True)
    bare.generate([request])
    assert bare.private_kv.peak_bytes == 2 * needed(bare, request)


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
