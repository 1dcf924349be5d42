"""`verify` and its repair: what is wrong is told, set aside and made anew; nothing else is touched."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ragcache.errors import StoreReadOnlyError, UnknownAffixError
from ragcache.registry import Registry
from ragcache.registry.index import Index


@pytest.fixture
def filled(registry: Registry, make_key, make_page) -> Registry:
    """Pages of the keys 0, 10 and 20, the first one hit and pinned; two names."""
    for first in (0, 10, 20):
        registry.put(make_key(first), make_page(make_key(first)), encode_s=1.0 + first)
    registry.get(make_key(0))
    registry.pin(make_key(0))
    registry.register("a", "one")
    registry.register("b", "two")
    return registry


def falsify(registry: Registry, path: Path, **fields: object) -> str:
    """Rewrite the row of the page used last; its digest."""
    row = registry.pages()[0]
    Index(path / "index").add(replace(row, **fields))  # type: ignore[arg-type]
    return row.digest


@pytest.mark.parametrize("repair", [False, True])
def test_a_sound_store_is_left_as_it_is(filled: Registry, path: Path, repair: bool) -> None:
    before = {file: file.stat().st_mtime_ns for file in path.glob("*/*") if file.parent.name != "index"}
    rows = filled.pages()
    report = filled.verify(repair=repair)
    assert (report.ok, report.names, report.messages) == (3, 2, ())
    assert report.damaged == report.damaged_names == report.contradicted == report.leftovers == 0
    assert filled.pages() == rows
    assert {file: file.stat().st_mtime_ns for file in before} == before


@pytest.mark.parametrize(
    "fields",
    [{"encode_s": 1e9}, {"tokens": 999}, {"text_digest": "another"}, {"model": "other"}, {"namespace": "b"}],
    ids=str,
)
def test_a_row_that_contradicts_its_page_is_told_of_and_made_anew(
    filled: Registry, path: Path, make_key, fields: dict[str, object]
) -> None:
    honest = filled.pages()[0]
    digest = falsify(filled, path, **fields)
    told = filled.verify()
    assert (told.ok, told.contradicted) == (3, 1)
    assert digest in told.messages[0]
    assert filled.verify().contradicted == 1  # telling changes nothing
    assert filled.verify(repair=True).contradicted == 1
    assert filled.verify().messages == ()
    (row,) = (row for row in filled.pages() if row.digest == digest)
    assert {name: getattr(row, name) for name in fields} == {name: getattr(honest, name) for name in fields}
    assert (row.hits, row.created_s) == (honest.hits, honest.created_s) == (1, honest.created_s)
    assert filled.usage().pinned["hard"] == 1
    assert filled.get(make_key(0)) is not None


def test_everything_at_once_is_made_whole(filled: Registry, path: Path, make_key, make_page) -> None:
    flipped, lost, orphan = (
        path / "pages" / f"{make_key(first).digest(filled._store.secret)}.safetensors"
        for first in (0, 10, 20)
    )
    flipped.write_bytes(flipped.read_bytes()[:-1] + b"\x7f")
    lost.unlink()
    Index(path / "index").delete(orphan.stem)
    name = next(file for file in (path / "names").iterdir() if json.loads(file.read_bytes())["name"] == "a")
    name.write_bytes(name.read_bytes().replace(b"one", b"six"))
    leftovers = [path / "pages" / f"{'a' * 64}.tmp", path / "names" / "x.json.tmp", path / "building" / "b"]
    for leftover in leftovers:
        leftover.write_text("")
    report = filled.verify(repair=True)
    assert (report.ok, report.damaged, report.missing, report.adopted) == (1, 1, 1, 1)
    assert (report.names, report.damaged_names, report.leftovers) == (1, 1, 2)  # the first is opening's work
    assert len(report.messages) == 4
    assert not any(leftover.exists() for leftover in leftovers)
    assert len(list((path / "quarantine").iterdir())) == 2
    assert [record.name for record in filled.names()] == ["b"]
    with pytest.raises(UnknownAffixError):
        filled.lookup("a")
    again = filled.verify(repair=True)
    assert (again.ok, again.names, again.messages) == (1, 1, ())
    filled.register("a", "one")
    for first in (0, 10):
        filled.put(make_key(first), make_page(make_key(first)))
    for first in (0, 10, 20):
        page = filled.get(make_key(first))
        assert page is not None
        assert torch.equal(page.keys[0], make_page(make_key(first)).keys[0])
    assert filled.verify().ok == 3


def test_a_repaired_size_counts_again(filled: Registry, path: Path) -> None:
    falsify(filled, path, namespace="tenant")
    filled.verify(repair=True)
    used = sum(file.stat().st_size for file in (path / "pages").iterdir())
    usage = filled.usage()
    assert (usage.tiers["disk"], set(usage.namespaces)) == (used, {"default"})


def test_a_page_being_built_keeps_its_lock(filled: Registry, path: Path, make_key) -> None:
    with filled.building(make_key(90)):
        assert filled.verify(repair=True).leftovers == 0
        assert len(list((path / "building").iterdir())) == 1


def test_foreign_files_are_neither_read_nor_removed(filled: Registry, path: Path) -> None:
    foreign = [path / "pages" / "thesis.txt", path / "pages" / "x.safetensors", path / "names" / "notes"]
    for file in foreign:
        file.write_text("precious")
    filled.verify(repair=True)
    filled.collect_garbage(unnamed=True)
    assert [file.read_text() for file in foreign] == ["precious"] * 3


def test_a_read_only_store_is_checked_and_not_repaired(
    filled: Registry, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.close()
    name = next((path / "names").iterdir())
    name.write_bytes(name.read_bytes()[:-1])
    monkeypatch.setattr("os.access", lambda *_: False)
    with Registry(path) as registry:
        report = registry.verify()
        assert (report.ok, report.names, report.damaged_names) == (3, 1, 1)
        with pytest.raises(StoreReadOnlyError):
            registry.verify(repair=True)
    assert name.exists()


def test_an_encrypted_store_is_repaired_too(tmp_path: Path, make_key, make_page) -> None:
    path = tmp_path / "sealed"
    with Registry(path, encryption_key=bytes(32), memory_bytes=0) as registry:
        registry.put(make_key(), make_page(make_key()), encode_s=2.0)
        registry.register("a", "one")
        falsify(registry, path, encode_s=9.0)
        (name,) = (path / "names").iterdir()
        name.write_bytes(name.read_bytes()[:-1])
        report = registry.verify(repair=True)
        assert (report.ok, report.contradicted, report.damaged_names) == (1, 1, 1)
        assert [row.encode_s for row in registry.pages()] == [2.0]
