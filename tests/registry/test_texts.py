"""Texts by name, asked for at every prompt: nothing registered is missed, nothing is listed in vain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragcache.errors import StoreUnavailableError
from ragcache.registry import Registry, names
from ragcache.registry.records import AffixRecord


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for every listing of a folder of names."""
    made: list[int] = []
    records = names.NameTable._records

    def noted(table: names.NameTable) -> Iterator[AffixRecord]:
        made.append(1)
        return records(table)

    monkeypatch.setattr(names.NameTable, "_records", noted)
    return made


@pytest.fixture
def settle(path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the folder of names old enough: its clock has ticked since the last change."""
    monkeypatch.setattr(names, "SETTLED_NS", 0)

    def tick() -> None:
        probe, changed = path / "vectors", (path / "names").stat().st_ctime_ns
        while True:
            probe.write_text("")
            if probe.stat().st_ctime_ns > changed:
                break

    return tick


def test_texts_are_those_of_the_names(registry: Registry) -> None:
    registry.register("b", "two")
    registry.register("a", "one")
    registry.register("a", "another", namespace="mine")
    assert list(registry.texts().by_name.items()) == [("a", "one"), ("b", "two")]
    assert dict(registry.texts("mine").by_name) == {"a": "another"}
    assert registry.texts("nobody's").by_name == {}


def test_while_nothing_changes_nothing_is_listed(
    registry: Registry, listings: list[int], settle: Callable[[], None]
) -> None:
    registry.register("a", "one")
    settle()
    first = registry.texts()
    before = len(listings)
    assert [registry.texts() for _ in range(5)] == [first] * 5
    assert registry.texts("mine").by_name == {}
    assert len(listings) == before == 1


def test_what_others_changed_is_seen_once_the_listing_is_trusted(
    registry: Registry, path: Path, listings: list[int], settle: Callable[[], None]
) -> None:
    with Registry(path) as other:
        for change, expected in (
            (lambda: other.register("a", "one"), {"a": "one"}),
            (lambda: other.register("a", "two"), {"a": "two"}),  # the same file's name
            (lambda: other.remove("a"), {}),
        ):
            settle()
            old = registry.texts()
            settle()
            change()
            assert registry.texts() is not old
            assert dict(registry.texts().by_name) == expected


def test_changes_within_a_tick_of_the_clock_are_seen(registry: Registry, path: Path) -> None:
    with Registry(path) as other:
        for number in range(50):
            writer = (registry, other)[number % 2]
            writer.register("a", f"text {number}")
            for reader in (registry, other):
                assert dict(reader.texts().by_name) == {"a": f"text {number}"}


def test_the_same_texts_are_the_same_object(registry: Registry) -> None:
    registry.register("a", "one")
    first = registry.texts()
    registry.register("a", "one", source="folder")
    registry.register("b", "one", namespace="mine")
    assert registry.texts() is first
    registry.register("b", "two")
    assert registry.texts() is not first


def test_on_a_network_file_system_every_look_lists(
    registry: Registry, listings: list[int], settle: Callable[[], None]
) -> None:
    registry._store.network = "nfs4"
    settle()
    for _ in range(3):
        registry.texts()
    assert len(listings) == 3


def test_a_folder_that_is_gone_is_an_error(registry: Registry, path: Path) -> None:
    (path / "names").rmdir()
    with pytest.raises(StoreUnavailableError):
        registry.texts()
