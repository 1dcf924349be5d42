"""Pages on the device while requests run, tested with a device that computes nothing."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from functools import partial

import pytest
import torch
from engine.asks import RIVER, TOWN, ask_about

from ragcache.engine import Engine, LoadedModel
from ragcache.engine.residency import Residency
from ragcache.model.segment_attention import SegmentBackend
from ragcache.registry import Registry

META = torch.device("meta")


def test_pages_stay_until_the_request_is_done(engine: Engine) -> None:
    resolved = engine.warm([RIVER, TOWN])
    size = sum(sum(t.nbytes for t in (*o.page.keys, *o.page.values)) for o in resolved.pages.values())
    residency = Residency(META, size)
    assert residency.tier is not None
    held = ExitStack()
    placed = residency.place(resolved, held)
    assert all(own.page.keys[0].device == META for own in placed.pages.values())
    assert [own.status for own in placed.pages.values()] == [own.status for own in resolved.pages.values()]
    other = engine.warm(["Another text that is long enough to have a page of its own."])
    assert residency.place(other, ExitStack()) is other  # no room while the first ones are in use
    held.close()
    (left,) = other.pages.values()  # which stayed where it was
    assert residency.peak_bytes == size + left.page.size_bytes
    assert residency.place(other, ExitStack()) is not other


@pytest.mark.parametrize(("device", "budget"), [("cpu", 2**30), ("meta", 0)])
def test_without_effect_on_the_cpu_and_without_a_budget(engine: Engine, device: str, budget: int) -> None:
    resolved = engine.warm([RIVER])
    assert Residency(torch.device(device), budget).place(resolved, ExitStack()) is resolved


def test_the_registry_counts_what_an_engine_keeps_on_its_device(
    model: LoadedModel, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ragcache.engine.engine.Residency", lambda devices, budget, made: Residency(META, budget)
    )
    assert "device" not in registry.usage().tiers
    with Engine(model, registry) as engine:
        resolved = engine.warm([RIVER])
        engine._residency.place(resolved, ExitStack())
        (own,) = resolved.pages.values()
        assert registry.usage().tiers["device"] == own.page.size_bytes


def test_requests_at_a_time_share_one_copy_until_the_last_is_done(bare: Engine) -> None:
    first, second = bare.warm([RIVER, TOWN]), bare.warm([TOWN])  # without a store each makes its own
    residency, one, two = Residency(torch.device("cpu"), 0), ExitStack(), ExitStack()
    residency.place(first, one)
    placed = residency.place(second, two)
    ((ids, own),) = placed.pages.items()
    assert own.page is first.pages[ids].page is not second.pages[ids].page
    assert residency.shared.size_bytes == sum(one.page.size_bytes for one in first.pages.values())
    one.close()
    assert residency.shared.size_bytes == own.page.size_bytes
    two.close()
    assert residency.shared.size_bytes == 0
    assert residency.peak_bytes == sum(one.page.size_bytes for one in first.pages.values())
    assert residency.place(second, ExitStack()) is second  # the old copy is forgotten


@pytest.mark.parametrize(("device", "budget"), [("cpu", 0), ("meta", 2**20)])
def test_a_page_in_use_is_what_the_backend_makes_of_it_and_nothing_beside_it(
    bare: Engine, device: str, budget: int
) -> None:
    predictor, where = bare.model.predictor, torch.device(device)
    made = partial(SegmentBackend.resident, config=predictor.config, dtype=predictor.dtype, devices=where)
    residency, one, two = Residency(where, budget, made), ExitStack(), ExitStack()
    resolved = bare.warm([RIVER])
    first, second = (next(iter(residency.place(resolved, held).pages.values())) for held in (one, two))
    assert first.page is second.page
    assert first.page.turned
    assert {tensor.device for tensor in (*first.page.keys, *first.page.values)} == {where}
    (own,) = resolved.pages.values()
    assert residency.peak_bytes == first.page.size_bytes == own.page.size_bytes
    kept = weakref.ref(first.page)
    del first, second
    one.close()
    assert kept() is not None
    two.close()
    assert (kept() is None) == (device == "cpu")  # on a device it stays while there is room


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_answers_alike_with_and_without_resident_pages(checkpoint, registry: Registry) -> None:
    from ragcache.engine import load

    model: LoadedModel = load(str(checkpoint), device="cuda")
    answers = []
    for device_bytes in (0, 2**30):
        with Engine(model, registry, device_bytes=device_bytes) as engine:
            for _ in range(2):
                answers.append(engine.generate([ask_about(RIVER, TOWN)])[0].token_ids)
    assert len(set(answers)) == 1
