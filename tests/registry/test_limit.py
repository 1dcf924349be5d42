from __future__ import annotations

from pathlib import Path

import pytest

from ragcache.errors import AffixTooLargeError, ConfigError
from ragcache.registry import PageRow, Registry


@pytest.fixture
def size_bytes(tmp_path: Path, make_key, make_page) -> int:
    """Bytes of the file of one page of `make_key`."""
    with Registry(tmp_path / "probe") as registry:
        registry.put(make_key(), make_page(make_key()))
        return registry.stats().size_bytes


def used(path: Path) -> int:
    return sum(file.stat().st_size for file in (path / "pages").iterdir())


@pytest.mark.parametrize("memory_bytes", [0, 10**6])
def test_least_recently_used_goes_at_the_exact_limit(
    path: Path, make_key, make_page, size_bytes: int, memory_bytes: int
) -> None:
    keys = [make_key(first) for first in (0, 10, 20, 30)]
    with Registry(path, limit_bytes=3 * size_bytes, memory_bytes=memory_bytes) as registry:
        for key in keys[:3]:
            registry.put(key, make_page(key))
        assert registry.stats().evicted == 0
        registry.get(keys[0])
        registry.put(keys[3], make_page(keys[3]))
        assert [registry.get(key) is not None for key in keys] == [True, False, True, True]
        assert used(path) == registry.stats().size_bytes == 3 * size_bytes
        assert registry.stats().evicted == 1


def test_clock_set_back_does_not_break_the_order(
    path: Path, make_key, make_page, size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [make_key(first) for first in (0, 10, 20)]
    clock = iter(range(10**6, 0, -1000))
    monkeypatch.setattr("time.time", lambda: float(next(clock)))
    with Registry(path, limit_bytes=2 * size_bytes, memory_bytes=0) as registry:
        for key in keys:
            registry.put(key, make_page(key))
        assert [registry.get(key) is not None for key in keys] == [False, True, True]


def test_order_of_use_survives_a_restart(path: Path, make_key, make_page, size_bytes: int) -> None:
    keys = [make_key(first) for first in (0, 10, 20)]
    with Registry(path, limit_bytes=2 * size_bytes) as registry:
        for key in keys[:2]:
            registry.put(key, make_page(key))
        registry.get(keys[0])
    with Registry(path, limit_bytes=2 * size_bytes) as registry:
        registry.put(keys[2], make_page(keys[2]))
        assert [registry.get(key) is not None for key in keys] == [True, False, True]


def test_page_over_the_limit_is_refused_and_evicts_nothing(
    path: Path, make_key, make_page, size_bytes: int
) -> None:
    small, large = make_key(), make_key(10, tokens=500)
    with Registry(path, limit_bytes=2 * size_bytes) as registry:
        registry.put(small, make_page(small))
        with pytest.raises(AffixTooLargeError, match="raise limit_bytes"):
            registry.put(large, make_page(large))
        assert registry.get(small) is not None
    with Registry(path, limit_bytes=size_bytes) as registry:
        assert registry.get(small) is not None


def test_large_page_evicts_as_many_as_it_needs(path: Path, make_key, make_page, size_bytes: int) -> None:
    large = make_key(90, tokens=32)
    with Registry(path, limit_bytes=5 * size_bytes, memory_bytes=0) as registry:
        for first in (0, 10, 20, 30, 40):
            registry.put(make_key(first), make_page(make_key(first)))
        registry.put(large, make_page(large))
        assert registry.get(large) is not None
        hits = [registry.get(make_key(first)) is not None for first in (0, 10, 20, 30, 40)]
        assert hits == [False, False, False, True, True]
        assert 4 * size_bytes < used(path) <= 5 * size_bytes


def test_lower_limit_is_kept_from_the_opening_on(path: Path, make_key, make_page, size_bytes: int) -> None:
    with Registry(path) as registry:
        for first in (0, 10, 20):
            registry.put(make_key(first), make_page(make_key(first)))
    with Registry(path, limit_bytes=size_bytes) as registry:
        assert used(path) == size_bytes
        assert registry.get(make_key(20)) is not None


def test_a_policy_of_ones_own_decides(path: Path, make_key, make_page, size_bytes: int) -> None:
    class MostTokensFirst:
        name = "most-tokens"

        def priority(self, row: PageRow, floor: float) -> float:
            return 1 / row.tokens

    keys = [make_key(0), make_key(10, tokens=6), make_key(20)]
    with Registry(path, limit_bytes=2 * size_bytes + 600, eviction=MostTokensFirst()) as registry:
        for key in keys:
            registry.put(key, make_page(key))
        assert [registry.get(key) is not None for key in keys] == [True, False, True]


@pytest.mark.parametrize("priority", [-1.0, float("nan"), float("inf")])
def test_impossible_priorities_are_refused(path: Path, make_key, make_page, priority: float) -> None:
    class Wrong:
        name = "wrong"

        def priority(self, row: PageRow, floor: float) -> float:
            return priority

    with Registry(path, eviction=Wrong()) as registry, pytest.raises(ConfigError, match="'wrong'"):
        registry.put(make_key(), make_page(make_key()))
    with Registry(path) as registry:
        assert registry.stats().entries == 0


def test_a_limit_of_nothing_is_refused(path: Path) -> None:
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ConfigError, match="limit_bytes"):
            Registry(path, limit_bytes=wrong)
    with pytest.raises(ConfigError, match="namespace 'a'"):
        Registry(path, quotas={"a": -1})
