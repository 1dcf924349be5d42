from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ragcache.page import Page
from ragcache.registry import AffixKey, Registry
from ragcache.registry.device import DeviceTier, to_device

META = torch.device("meta")
PAGE_BYTES = 4 * 2 * 4 * 8 * 4  # tensors, heads, tokens, head_dim, float32


@pytest.fixture
def pages(make_key, make_page) -> Callable[..., dict[AffixKey, Page]]:
    def some(*firsts: int) -> dict[AffixKey, Page]:
        return {make_key(first): make_page(make_key(first)) for first in firsts}

    return some


def test_pages_are_copied_once_and_keep_their_ids_on_the_host(pages) -> None:
    tier = DeviceTier(META, 10 * PAGE_BYTES)
    first, second = tier.take(pages(0)), tier.take(pages(0))
    assert first is not None
    assert second is not None
    (page,), (again,) = first.pages.values(), second.pages.values()
    assert page is again
    assert {tensor.device for tensor in (*page.keys, *page.values)} == {META}
    assert page.token_ids.device.type == "cpu"
    assert tier.size_bytes == PAGE_BYTES


def test_the_budget_is_exact_and_the_least_recently_used_goes(pages) -> None:
    tier = DeviceTier(META, 2 * PAGE_BYTES)
    kept = {}
    for first in (0, 10, 0, 20):  # 10 goes
        stay = tier.take(pages(first))
        assert stay is not None
        kept[first] = next(iter(stay.pages.values()))
        stay.release()
        assert tier.size_bytes <= 2 * PAGE_BYTES
    for first, stays in ((0, True), (20, True), (10, False)):
        stay = tier.take(pages(first))
        assert stay is not None
        assert (next(iter(stay.pages.values())) is kept[first]) == stays
        stay.release()


def test_pages_in_use_are_not_dropped_and_what_does_not_fit_stays_on_the_host(pages) -> None:
    tier = DeviceTier(META, 2 * PAGE_BYTES)
    stay = tier.take(pages(0, 10))
    assert stay is not None
    assert tier.take(pages(20)) is None
    assert tier.take(pages(0, 20)) is None  # all of a request's pages, or none
    again = tier.take(pages(0))
    assert again is not None
    stay.release()
    stay.release()
    assert tier.take(pages(20, 30)) is None  # 0 is still in use
    assert tier.take(pages(20)) is not None
    assert tier.size_bytes == 2 * PAGE_BYTES
    assert DeviceTier(META, PAGE_BYTES - 1).take(pages(0)) is None


def test_on_the_cpu_nothing_is_copied(make_key, make_page) -> None:
    page = make_page(make_key())
    moved = to_device(page, torch.device("cpu"))
    assert all(one is other for one, other in zip(moved.keys, page.keys, strict=True))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_gets_the_same_bytes(make_key, make_page) -> None:
    page = make_page(make_key(tokens=100))
    moved = to_device(page, torch.device("cuda"))
    torch.cuda.synchronize()
    for one, other in zip(moved.keys + moved.values, page.keys + page.values, strict=True):
        assert one.is_cuda
        assert torch.equal(one.cpu(), other)


def test_a_large_file_is_read_ahead_on_its_first_check_only(
    path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragcache.registry import page_io

    asked: list[int] = []
    monkeypatch.setattr(page_io.os, "posix_fadvise", lambda fd, start, size, advice: asked.append(start))
    monkeypatch.setattr(page_io, "READ_AHEAD_FROM_BYTES", 1)
    threads: list[object] = []
    thread = page_io.threading.Thread

    def now(target, **options):  # type: ignore[no-untyped-def]
        threads.append(target)
        return thread(target=target, **options)

    key = make_key()
    with Registry(path) as registry:
        registry.put(key, make_page(key))
    with monkeypatch.context() as patch, Registry(path, memory_bytes=0) as registry:
        patch.setattr(page_io.threading, "Thread", now)
        assert registry.get(key) is not None
        assert registry.get(key) is not None
        assert len(threads) == 1
        threads[0]()  # type: ignore[operator]
        assert 0 in asked


def test_hidden_states_stay_on_the_host(make_key, make_page) -> None:
    page = replace(make_page(make_key()), hidden={1: torch.zeros(4, 8)})
    assert to_device(page, META).hidden[1].device.type == "cpu"
