from __future__ import annotations

import time

from ragcache.registry import AffixKey, MemoryTier


def fill(tier: MemoryTier, make_page, *keys: AffixKey) -> int:
    for key in keys:
        page = make_page(key)
        tier.put(key, f"digest{key.token_ids[0]}", page)
    return page.size_bytes + page.token_ids.nbytes


def test_budget_is_exact_and_the_least_recently_used_goes(make_key, make_page) -> None:
    a, b, c = make_key(0), make_key(10), make_key(20)
    size_bytes = fill(MemoryTier(0), make_page, a)
    tier = MemoryTier(2 * size_bytes)
    fill(tier, make_page, a, b)
    assert tier.get(a) is not None
    fill(tier, make_page, c)
    assert (tier.get(a) is not None, tier.get(b), tier.get(c) is not None) == (True, None, True)
    assert tier.size_bytes == 2 * size_bytes


def test_page_over_the_whole_budget_displaces_nothing(make_key, make_page) -> None:
    small, large = make_key(0), make_key(10, tokens=50)
    size_bytes = fill(MemoryTier(0), make_page, small)
    tier = MemoryTier(size_bytes)
    fill(tier, make_page, small, large)
    assert tier.get(large) is None
    assert tier.get(small) is not None


def test_discard_frees_the_budget(make_key, make_page) -> None:
    tier = MemoryTier(10**6)
    fill(tier, make_page, make_key(0))
    tier.discard("digest0")
    tier.discard("digest0")
    assert (tier.get(make_key(0)), tier.size_bytes) == (None, 0)


def test_hit_is_fast(make_key, make_page) -> None:
    tier = MemoryTier(10**7)
    key = make_key(0, tokens=2048)
    fill(tier, make_page, key)
    start_s = time.perf_counter()
    for _ in range(100):
        assert tier.get(make_key(0, tokens=2048)) is not None
    assert (time.perf_counter() - start_s) / 100 < 1e-3
