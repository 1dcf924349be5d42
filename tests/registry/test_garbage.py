from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from ragcache.errors import StoreReadOnlyError
from ragcache.registry import GcReport, Registry

NOTHING = GcReport(leases=0, orphans=0, quarantined=0, pages=0, freed_bytes=0)


def test_nothing_to_do(registry: Registry, make_key, make_page) -> None:
    registry.put(make_key(), make_page(make_key()))
    registry.pin(make_key())
    assert registry.collect_garbage() == NOTHING
    assert registry.usage().pinned["hard"] == 1


def test_leftovers_of_killed_processes_and_quarantine_go(registry: Registry, path: Path) -> None:
    leftovers = [
        path / "secret.tmp",
        path / "pages" / f"{'a' * 64}.tmp",
        path / "names" / "b.json.tmp",
        path / "building" / ("c" * 64),
        path / "quarantine" / "00-d",
    ]
    for leftover in leftovers:
        leftover.write_text("" if leftover.parent.name == "building" else "12345")
    found = registry.collect_garbage(dry_run=True)
    assert found == GcReport(leases=0, orphans=4, quarantined=1, pages=0, freed_bytes=20)
    assert all(leftover.exists() for leftover in leftovers)
    assert registry.collect_garbage() == found
    assert not any(leftover.exists() for leftover in leftovers)
    assert registry.collect_garbage() == NOTHING


def test_page_being_built_keeps_its_lock(registry: Registry, path: Path) -> None:
    lock_file = path / "building" / ("c" * 64)
    with FileLock(lock_file):
        assert registry.collect_garbage() == NOTHING
        assert lock_file.exists()


def test_ended_leases_go(registry: Registry, make_key, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.pin(make_key(), seconds=5)
    monkeypatch.setattr("ragcache.registry.moment._uptime_s", lambda: 1e12)
    assert registry.collect_garbage(dry_run=True).leases == 1
    assert registry.collect_garbage() == replace(NOTHING, leases=1)
    assert registry.collect_garbage() == NOTHING


def test_pages_without_a_name_go_only_when_asked(path: Path, make_key, make_page) -> None:
    named, pinned, unnamed = make_key(0), make_key(10), make_key(20)
    with Registry(path, memory_bytes=0) as registry:
        text = registry.register("a", "text", namespace="other").text_digest
        registry.put(named, make_page(named), text_digest=text)
        registry.put(pinned, make_page(pinned), text_digest="forgotten")
        registry.put(unnamed, make_page(unnamed))
        registry.pin(pinned)
        size_bytes = registry.pages()[0].size_bytes
        assert registry.collect_garbage() == NOTHING
        expected = GcReport(leases=0, orphans=0, quarantined=0, pages=1, freed_bytes=size_bytes)
        assert registry.collect_garbage(unnamed=True, dry_run=True) == expected
        assert registry.stats().entries == 3
        assert registry.collect_garbage(unnamed=True) == expected
        assert [registry.get(key) is not None for key in (named, pinned, unnamed)] == [True, True, False]
        assert registry.stats().evicted == 0


def test_read_only_store_refuses(registry: Registry, make_key) -> None:
    registry._shelf.index = None
    for change in (registry.collect_garbage, lambda: registry.pin(make_key()), lambda: registry.unpin("a")):
        with pytest.raises(StoreReadOnlyError):
            change()
    assert registry.usage().hits == 0
