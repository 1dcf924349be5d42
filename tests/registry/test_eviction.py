from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ragcache.registry import GDSF, LFU, LRU, POLICIES, PageRow, Registry
from ragcache.registry.index import Index, scope_of
from ragcache.registry.room import Limits
from ragcache.registry.uses import Use


def row(name: str, **fields: object) -> PageRow:
    plain = PageRow(name * 64, "nano", "float32", 4, 100, 1.0, 1.0, 0, 0.5, "text")
    return replace(plain, **fields)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def order(index: Index, scope: str = "") -> str:
    return "".join(found.digest[0] for found in index.in_order(scope))


def test_gdsf_is_the_formula() -> None:
    page = row("a", hits=3, encode_s=0.9, load_s=0.1, size_bytes=200)
    assert GDSF().priority(page, floor=7.0) == pytest.approx(7.0 + 4 * 0.8 / 200)
    assert GDSF().priority(replace(page, load_s=2.0), floor=7.0) == 7.0
    assert LFU().priority(page, floor=7.0) == 3
    assert LRU().priority(replace(page, use_order=9), floor=7.0) == 9
    assert set(POLICIES) == {"lru", "lfu", "gdsf"}


def test_each_policy_orders_the_index_its_own_way(folder: Path) -> None:
    for policy, expected in ((LRU(), "bca"), (LFU(), "cba"), (GDSF(), "cab")):
        index = Index(folder, policy)
        index.rebuild([])
        index.add(row("a"))
        index.add(row("b", encode_s=9.0))
        index.add(row("c", size_bytes=10_000))
        index.use({"b" * 64: Use(2), "c" * 64: Use(1)})
        index.use({"a" * 64: Use(5)})
        assert order(index) == expected
        index.close()


def test_measured_loading_fades_and_lowers_what_a_hit_saves(folder: Path) -> None:
    index = Index(folder)
    index.add(row("a", encode_s=1.0))
    assert index.use({"a" * 64: Use(2, 1, 0.4)}) == pytest.approx(2 * 0.6)
    assert index.use({"a" * 64: Use(3, 2, 0.2)}) == pytest.approx(3 * (1 - (0.8 * 0.4 + 0.2 * 0.1)))
    index.use({"a" * 64: Use(1)})
    (found,) = index.rows()
    assert (found.hits, found.load_s) == (6, pytest.approx(0.34))
    assert index.total("hits") == 6


def test_floor_rises_with_victims_survives_reopening_and_ages_the_rest(folder: Path) -> None:
    index = Index(folder)
    index.add(row("a", encode_s=10.0))
    index.add(row("b", encode_s=50.0))
    index.evict(index.row("a" * 64), "")
    other = Index(folder)
    other.add(row("c", encode_s=45.0))
    assert other.row("c" * 64).priority == pytest.approx(0.1 + 0.45)
    assert order(other) == "bc"
    assert other.row("c" * 64).namespace_priority == pytest.approx(0.45)


def test_another_policy_ranks_the_store_anew(path: Path, make_key, make_page) -> None:
    keys = [make_key(0), make_key(10), make_key(20)]
    with Registry(path, eviction=LRU()) as registry:
        for key, encode_s in zip(keys, (9.0, 1.0, 5.0), strict=True):
            registry.put(key, make_page(key), encode_s=encode_s)
        size_bytes = registry.stats().size_bytes // 3
    with Registry(path, limit_bytes=2 * size_bytes, memory_bytes=0) as registry:
        assert [registry.get(key) is not None for key in keys] == [True, False, True]


def test_costly_page_outlives_cheap_ones_in_the_registry(path: Path, make_key, make_page) -> None:
    costly, cheap = make_key(0), [make_key(first) for first in range(10, 100, 10)]
    with Registry(path) as registry:
        registry.put(costly, make_page(costly), encode_s=1000.0)
        size_bytes = registry.stats().size_bytes
    with Registry(path, limit_bytes=3 * size_bytes, memory_bytes=0) as registry:
        for key in cheap:
            registry.put(key, make_page(key), encode_s=0.1)
        assert registry.get(costly) is not None
        assert registry.stats().evicted == 7
        assert registry.get(cheap[-1]) is not None


def test_loading_is_measured_on_hits_from_disk_only(path: Path, make_key, make_page) -> None:
    key = make_key()
    with Registry(path) as registry:
        registry.put(key, make_page(key), encode_s=5.0)
        registry.get(key)
        assert registry.pages()[0].load_s == 0.0
    with Registry(path, memory_bytes=0) as registry:
        registry.get(key)
        (found,) = registry.pages()
        assert 0 < found.load_s < 5
        assert registry.stats().saved_s == pytest.approx(5.0 - found.load_s)
        assert registry.usage().saved_s == pytest.approx(10.0 - found.load_s)


def test_rows_of_an_older_layout_come_back_from_the_headers(
    path: Path, make_key, make_page, page_file: Callable[[], Path]
) -> None:
    key = make_key(namespace="tenant")
    with Registry(path) as registry:
        registry.put(key, make_page(key), encode_s=0.5)
        fields = json.loads(registry.pages()[0].to_json())
    for name in ("namespace", "load_s", "priority", "namespace_priority"):
        del fields[name]
    with closing(sqlite3.connect(path / "index" / "cache.db")) as connection, connection:
        connection.execute("DELETE FROM Cache WHERE key NOT LIKE 'page:%'")
        connection.execute("UPDATE Cache SET value = ?", (json.dumps(fields),))
        connection.executemany(
            "INSERT INTO Cache (key, raw, store_time, access_time, mode, value, size) VALUES (?,1,0,0,1,?,0)",
            [("bytes", fields["size_bytes"]), ("entries", 1), ("clock", 1)],
        )
    with Registry(path, memory_bytes=0) as registry:
        (found,) = registry.pages()
        assert (found.encode_s, found.namespace, found.hits) == (0.5, "tenant", 0)
        assert registry.stats().size_bytes == page_file().stat().st_size
        assert registry.get(key) is not None


@pytest.mark.parametrize("lost", ["order:%", "bytes:%", "entries:%", "policy"])
def test_lost_order_or_totals_are_rebuilt_with_the_history_kept(
    path: Path, make_key, make_page, lost: str
) -> None:
    with Registry(path) as registry:
        registry.put(make_key(), make_page(make_key()))
        registry.get(make_key())
        registry.pin(make_key())
        before = registry.stats().size_bytes
    with closing(sqlite3.connect(path / "index" / "cache.db")) as connection, connection:
        assert connection.execute("DELETE FROM Cache WHERE key LIKE ?", (lost,)).rowcount
    with Registry(path) as registry:
        usage = registry.usage()
        assert (registry.stats().size_bytes, usage.hits, usage.pinned["hard"]) == (before, 1, 1)
        assert [found.hits for found in registry.pages()] == [1]
        assert len(list(registry._shelf.index.in_order())) == 1


def test_clock_set_back_changes_no_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(folder)
    for seconds, name in ((100.0, "a"), (50.0, "b"), (-7.0, "c")):
        monkeypatch.setattr("time.time", lambda seconds=seconds: seconds)
        index.add(row(name))
    index.use({"a" * 64: Use(0)})
    assert order(index) == "bca"


def test_one_eviction_reads_few_rows_of_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(folder)
    index.rebuild(replace(row("0"), digest=f"{n:064x}", use_order=n) for n in range(2000))
    read = []
    parse = PageRow.from_json.__func__
    monkeypatch.setattr(
        PageRow, "from_json", classmethod(lambda cls, text: (read.append(1), parse(cls, text))[1])
    )
    limits = Limits(2000 * 100, {"default": 1999 * 100})
    victims = limits.victims(index, 250, "default")
    assert [victim.row.digest for victim in victims] == [f"{n:064x}" for n in range(4)]
    assert [victim.scope for victim in victims] == [scope_of("default")] * 4
    assert len(read) < 20


@pytest.mark.slow
def test_ten_thousand_entries_evict_in_milliseconds(folder: Path) -> None:
    import time

    index = Index(folder)
    index.rebuild(replace(row("0"), digest=f"{n:064x}", use_order=n) for n in range(10_000))
    started = time.process_time()
    for number in range(20):
        with index.transaction():
            for victim in Limits(10_000 * 100).victims(index, 100):
                index.evict(victim.row, victim.scope)
            index.add(replace(row("0"), digest=f"{10_000 + number:064x}"))
    assert (time.process_time() - started) / 20 < 0.05
    assert index.usage().entries == 10_000
