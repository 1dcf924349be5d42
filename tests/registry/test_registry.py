from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ragcache.errors import ConfigError, InputError, StoreUnavailableError
from ragcache.page import Page
from ragcache.registry import Registry


def same(found: Page | None, page: Page) -> bool:
    return (
        found is not None
        and torch.equal(found.token_ids, page.token_ids)
        and all(
            torch.equal(a, b) and a.dtype == b.dtype
            for a, b in zip((*found.keys, *found.values), (*page.keys, *page.values), strict=True)
        )
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("memory_bytes", [0, 10**6])
def test_page_survives_a_restart(path: Path, make_key, make_page, dtype: str, memory_bytes: int) -> None:
    key = make_key(dtype=dtype)
    page = make_page(key)
    with Registry(path, memory_bytes=memory_bytes) as registry:
        assert registry.get(key) is None
        assert same(registry.put(key, page), page)
        assert same(registry.get(key), page)
    with Registry(path, memory_bytes=memory_bytes) as registry:
        assert same(registry.get(key), page)
        assert same(registry.get(key), page)


def test_put_does_not_overwrite(registry: Registry, make_key, make_page) -> None:
    key = make_key()
    page = make_page(key)
    registry.put(key, page)
    other = replace(page, keys=page.values)
    assert same(registry.put(key, other), page)
    assert registry.stats().stored == 1


def test_put_detaches_and_copies(registry: Registry, make_key, make_page) -> None:
    key = make_key()
    page = make_page(key)
    given = replace(page, keys=tuple(k.clone().requires_grad_() for k in page.keys))
    stored = registry.put(key, given)
    with torch.no_grad():
        given.keys[0].zero_()
    assert not stored.keys[0].requires_grad
    assert same(registry.get(key), page)


def test_transposed_tensors_are_stored_as_they_read(registry: Registry, make_key) -> None:
    key = make_key()
    view = torch.arange(64.0).reshape(4, 2, 8).transpose(0, 1)
    page = Page(torch.tensor(key.token_ids), (view,), (view,))
    registry.put(key, page)
    assert same(registry.get(key), page)


def test_another_namespace_misses_and_the_same_hits(registry: Registry, make_key, make_page) -> None:
    key = make_key(namespace="mine")
    registry.put(key, make_page(key))
    assert registry.get(make_key(namespace="yours")) is None
    assert registry.get(make_key(namespace="mine")) is not None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda page: replace(page, token_ids=page.token_ids + 1),
        lambda page: replace(page, turned=True),
        lambda page: replace(page, keys=page.keys[:1]),
        lambda page: replace(page, keys=(), values=()),
        lambda page: replace(page, keys=tuple(k.double() for k in page.keys)),
        lambda page: replace(page, values=tuple(v[:, :2] for v in page.values)),
        lambda page: replace(page, values=tuple(v[0] for v in page.values)),
    ],
)
def test_page_that_is_not_the_keys_is_refused(registry: Registry, make_key, make_page, spoil) -> None:
    key = make_key()
    with pytest.raises(InputError, match="cannot be stored"):
        registry.put(key, spoil(make_page(key)))
    assert registry.stats().entries == 0


def test_unknown_codec_is_refused(registry: Registry, make_key, make_page) -> None:
    key = make_key(codec="zip")
    with pytest.raises(ConfigError, match="raw"):
        registry.put(key, make_page(key))
    with pytest.raises(ConfigError, match="raw"):
        registry.get(key)


def test_page_stays_usable_after_eviction_and_close(path: Path, make_key, make_page) -> None:
    key = make_key()
    page = make_page(key)
    with Registry(path, memory_bytes=0) as registry:
        registry.register("a", "text")
        registry.put(key, page, text_digest=registry.lookup("a").text_digest)
        held = registry.get(key)
        registry.remove("a")
        assert registry.get(key) is None
    assert same(held, page)


@pytest.mark.parametrize("memory_bytes", [0, 10**6])
def test_removing_the_last_name_of_a_text_drops_its_pages(
    path: Path, make_key, make_page, memory_bytes: int
) -> None:
    kept, dropped = make_key(0), make_key(10)
    with Registry(path, memory_bytes=memory_bytes) as registry:
        registry.register("a", "text")
        digest = registry.register("b", "text").text_digest
        registry.put(dropped, make_page(dropped), text_digest=digest)
        registry.put(kept, make_page(kept), text_digest="another")
        registry.remove("a")
        assert registry.get(dropped) is not None
        registry.remove("b")
        assert registry.get(dropped) is None
        assert registry.get(kept) is not None
        assert registry.stats().evicted == 0


def test_rows_tell_size_cost_and_use(registry: Registry, path: Path, make_key, make_page) -> None:
    key, other = make_key(), make_key(10)
    registry.put(key, make_page(key), encode_s=0.5, text_digest="t")
    registry.put(other, make_page(other))
    registry.get(key)
    registry.get(key)
    registry.get(key, count=False)
    first, second = registry.pages()
    assert (first.model, first.dtype, first.tokens, first.hits, first.encode_s) == (
        "nano",
        "float32",
        4,
        2,
        0.5,
    )
    assert (first.text_digest, second.hits) == ("t", 0)
    assert registry.pages("t") == (first,)
    assert first.size_bytes + second.size_bytes == sum(f.stat().st_size for f in (path / "pages").iterdir())


def test_stats_count_what_happened(path: Path, make_key, make_page) -> None:
    key = make_key()
    with Registry(path, limit_bytes=10**6) as registry:
        registry.get(key)
        registry.get(key, count=False)
        registry.put(key, make_page(key))
        registry.get(key)
        stats = registry.stats()
    assert (stats.entries, stats.hits, stats.misses, stats.stored, stats.evicted) == (1, 1, 1, 1, 0)
    assert (stats.limit_bytes, stats.quarantined) == (10**6, 0)
    assert stats.size_bytes == (path / "pages").joinpath(next((path / "pages").iterdir())).stat().st_size


def test_memory_hit_takes_under_a_millisecond(path: Path, make_key, make_page) -> None:
    key = make_key(tokens=512)
    with Registry(path) as registry:
        registry.put(key, make_page(key))
        start_s = time.perf_counter()
        for _ in range(200):
            registry.get(key)
        assert (time.perf_counter() - start_s) / 200 < 1e-3


def test_closed_registry_says_so(path: Path, make_key) -> None:
    registry = Registry(path)
    registry.close()
    registry.close()
    for use in (lambda: registry.get(make_key()), registry.stats, registry.names):
        with pytest.raises(StoreUnavailableError, match="closed"):
            use()
