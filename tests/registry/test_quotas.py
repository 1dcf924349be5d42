from __future__ import annotations

from pathlib import Path

import pytest

from ragcache.errors import AffixTooLargeError
from ragcache.registry import LRU, Registry, Usage


@pytest.fixture
def size_bytes(tmp_path: Path, make_key, make_page) -> int:
    """Bytes of the file of one page; names of namespaces here are equally long."""
    with Registry(tmp_path / "probe") as registry:
        key = make_key(namespace="aaa")
        registry.put(key, make_page(key))
        return registry.stats().size_bytes


def test_namespace_over_its_quota_evicts_its_own_pages_first(
    path: Path, make_key, make_page, size_bytes: int
) -> None:
    other = make_key(0, namespace="bbb")
    mine = [make_key(first, namespace="aaa") for first in (10, 20, 30)]
    with Registry(path, quotas={"aaa": 2 * size_bytes}, memory_bytes=0, eviction=LRU()) as registry:
        for key in (other, *mine):
            registry.put(key, make_page(key))
        assert [registry.get(key) is not None for key in (other, *mine)] == [True, False, True, True]
        assert registry.usage().namespaces == {
            "aaa": Usage(2, 2 * size_bytes),
            "bbb": Usage(1, size_bytes),
        }


def test_quota_and_limit_hold_together(path: Path, make_key, make_page, size_bytes: int) -> None:
    keys = [make_key(first, namespace=name) for first, name in ((0, "bbb"), (10, "aaa"), (20, "bbb"))]
    limits = {"limit_bytes": 3 * size_bytes, "quotas": {"aaa": size_bytes}}
    with Registry(path, memory_bytes=0, eviction=LRU(), **limits) as registry:
        for key in keys:
            registry.put(key, make_page(key))
        new = make_key(30, namespace="aaa")
        registry.put(new, make_page(new))
        assert [registry.get(key) is not None for key in (*keys, new)] == [True, False, True, True]
        last = make_key(40, namespace="bbb")
        registry.put(last, make_page(last))
        assert [registry.get(key) is not None for key in (*keys, new, last)] == [
            False,
            False,
            True,
            True,
            True,
        ]
        assert registry.stats().evicted == 2


def test_page_over_the_quota_is_refused_and_evicts_nothing(
    path: Path, make_key, make_page, size_bytes: int
) -> None:
    small, large = make_key(0, namespace="aaa"), make_key(10, tokens=500, namespace="aaa")
    with Registry(path, quotas={"aaa": size_bytes}) as registry:
        registry.put(small, make_page(small))
        with pytest.raises(AffixTooLargeError, match="quota of namespace 'aaa'"):
            registry.put(large, make_page(large))
        assert registry.stats().entries == 1
        elsewhere = make_key(10, tokens=500, namespace="bbb")
        registry.put(elsewhere, make_page(elsewhere))
        assert registry.stats().entries == 2


def test_quota_of_nothing_stores_nothing_of_that_namespace(path: Path, make_key, make_page) -> None:
    with Registry(path, quotas={"aaa": 0}) as registry:
        with pytest.raises(AffixTooLargeError, match="'aaa' is 0"):
            registry.put(make_key(namespace="aaa"), make_page(make_key()))
        registry.put(make_key(), make_page(make_key()))


def test_quota_is_kept_from_the_opening_on(path: Path, make_key, make_page, size_bytes: int) -> None:
    with Registry(path) as registry:
        for first in (0, 10, 20):
            key = make_key(first, namespace="aaa")
            registry.put(key, make_page(key))
    with Registry(path, quotas={"aaa": size_bytes}) as registry:
        assert registry.usage().namespaces == {"aaa": Usage(1, size_bytes)}


def test_namespaces_with_odd_names_are_counted_apart(path: Path, make_key, make_page) -> None:
    names = ["a", 'a"', 'a":b', "a:", "ä", "\ud800", "[1]", " "]
    with Registry(path) as registry:
        for first, name in enumerate(names):
            key = make_key(first * 10, namespace=name)
            registry.put(key, make_page(key))
        usage = registry.usage()
        assert {name: found.entries for name, found in usage.namespaces.items()} == dict.fromkeys(names, 1)
        assert sum(found.size_bytes for found in usage.namespaces.values()) == usage.tiers["disk"]
    with Registry(path) as registry:
        assert registry.usage().namespaces == usage.namespaces
