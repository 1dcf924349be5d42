from __future__ import annotations

import errno
import os
import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import torch

from ragcache.errors import StoreFullError, StoreReadOnlyError, StoreUnavailableError
from ragcache.registry import Registry
from ragcache.registry.index import Index


def damage(file: Path, how: str) -> None:
    content = bytearray(file.read_bytes())
    if how == "flip":
        content[-3] ^= 1
        file.write_bytes(content)
    elif how == "truncate":
        file.write_bytes(content[:-1])
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "link":
        file.rename(file.parent.parent.parent / "elsewhere")
        file.symlink_to(file.parent.parent.parent / "elsewhere")
    else:
        file.unlink()
        file.mkdir()


@pytest.mark.parametrize("how", ["flip", "truncate", "empty", "link", "folder"])
def test_damage_is_a_miss_and_the_page_can_be_built_anew(
    path: Path, make_key, make_page, page_file: Callable[[], Path], how: str
) -> None:
    key = make_key()
    with Registry(path) as registry:
        registry.put(key, make_page(key))
    damage(page_file(), how)
    with Registry(path) as registry:
        assert registry.get(key) is None
        stats = registry.stats()
        assert (stats.misses, stats.quarantined, stats.entries, stats.size_bytes) == (1, 1, 0, 0)
        assert len(list((path / "quarantine").iterdir())) == 1
        registry.put(key, make_page(key))
        assert registry.get(key) is not None


def test_flip_after_the_first_check_is_noticed_when_the_file_changed(
    registry: Registry, make_key, make_page, page_file: Callable[[], Path]
) -> None:
    key = make_key()
    registry.put(key, make_page(key))
    assert registry.get(key) is not None
    damage(page_file(), "flip")
    assert registry.get(key) is None


def test_bytes_are_checked_once_per_process(
    path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragcache.registry import payload

    key = make_key()
    with Registry(path) as registry:
        registry.put(key, make_page(key))
    checked: list[int] = []
    digest = payload._digest
    monkeypatch.setattr(payload, "_digest", lambda tensor: (checked.append(1), digest(tensor))[1])
    with Registry(path, memory_bytes=0) as registry:
        assert registry.get(key) is not None
        first = len(checked)
        assert registry.get(key) is not None
    assert first == 5
    assert len(checked) == first


def test_swapped_payloads_both_miss(registry: Registry, path: Path, make_key, make_page) -> None:
    a, b = make_key(0), make_key(10)
    registry.put(a, make_page(a))
    registry.put(b, make_page(b))
    one, two = (path / "pages").iterdir()
    one.rename(path / "third")
    two.rename(one)
    (path / "third").rename(two)
    assert (registry.get(a), registry.get(b)) == (None, None)
    assert registry.stats().quarantined == 2


def test_file_gone_is_a_miss(registry: Registry, make_key, make_page, page_file: Callable[[], Path]) -> None:
    registry.put(make_key(), make_page(make_key()))
    page_file().unlink()
    assert registry.get(make_key()) is None
    report = registry.verify()
    assert (report.ok, report.missing, report.damaged) == (0, 1, 0)
    assert registry.stats().size_bytes == 0


def test_planted_pickle_row_is_not_loaded(path: Path, make_key, make_page) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (path.parent / "executed",)

    key = make_key()
    with Registry(path) as registry:
        registry.put(key, make_page(key))
    with closing(sqlite3.connect(path / "index" / "cache.db")) as connection, connection:
        connection.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(Bomb()),))
        connection.execute("INSERT INTO Cache (key, raw, mode) VALUES (?, 0, 4)", (pickle.dumps(Bomb()),))
    with Registry(path) as registry:
        assert registry.get(key) is not None
        assert [row.tokens for row in registry.pages()] == [4]
    assert not (path.parent / "executed").exists()


def test_planted_row_cannot_remove_a_file_outside(path: Path, make_key, make_page) -> None:
    victim = path.parent / "victim.safetensors"
    victim.write_text("precious")
    with Registry(path) as registry:
        registry.put(make_key(), make_page(make_key()))
        size_bytes = registry.stats().size_bytes
        text = registry.pages()[0].to_json().replace(registry.pages()[0].digest, "../../victim")
    with closing(sqlite3.connect(path / "index" / "cache.db")) as connection, connection:
        connection.execute(
            "INSERT INTO Cache (key, raw, mode, value) VALUES ('page:../../victim', 1, 1, ?)", (text,)
        )
    with Registry(path, limit_bytes=size_bytes) as registry:
        for first in (10, 20):
            registry.put(make_key(first), make_page(make_key(first)))
        assert registry.verify().ok == 1
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("how", ["gone", "garbage", "torn"])
def test_lost_index_is_rebuilt_from_the_headers(path: Path, make_key, make_page, how: str) -> None:
    keys = [make_key(first) for first in (0, 10, 20)]
    with Registry(path) as registry:
        for key in keys:
            registry.put(key, make_page(key), encode_s=0.5, text_digest="t")
        before = registry.pages()
        registry.register("a", "text")
    for file in (path / "index").iterdir():
        file.write_bytes(b"garbage" * 999 if how == "garbage" else file.read_bytes()[:5000])
        if how == "gone":
            file.unlink()
    with Registry(path) as registry:
        after = registry.pages()
        assert {row.digest: (row.size_bytes, row.encode_s, row.text_digest) for row in after} == {
            row.digest: (row.size_bytes, row.encode_s, row.text_digest) for row in before
        }
        assert registry.stats().size_bytes == sum(row.size_bytes for row in before)
        assert all(registry.get(key) is not None for key in keys)
        assert registry.lookup("a").text == "text"


def test_file_without_a_row_is_adopted_when_it_is_hit(
    registry: Registry, path: Path, make_key, make_page
) -> None:
    key = make_key()
    registry.put(key, make_page(key))
    size_bytes = registry.stats().size_bytes
    Index(path / "index").rebuild([])
    assert registry.stats().size_bytes == 0
    assert registry.get(key) is not None
    assert registry.stats().size_bytes == size_bytes


def test_verify_reports_every_kind(registry: Registry, path: Path, make_key, make_page) -> None:
    for first in (0, 10, 20, 30):
        registry.put(make_key(first), make_page(make_key(first)))
    fine, flipped, gone, orphan = (row.digest for row in registry.pages())
    damage(path / "pages" / f"{flipped}.safetensors", "flip")
    (path / "pages" / f"{gone}.safetensors").unlink()
    Index(path / "index").delete(orphan)
    report = registry.verify()
    assert (report.ok, report.damaged, report.missing, report.adopted) == (2, 1, 1, 1)
    assert len(report.messages) == 3
    assert all(any(digest in line for line in report.messages) for digest in (flipped, gone, orphan))
    assert {row.digest for row in registry.pages()} == {fine, orphan}
    again = registry.verify()
    assert (again.ok, again.messages) == (2, ())


def test_quarantine_does_not_grow_for_ever(registry: Registry, path: Path, make_key, make_page) -> None:
    for first in range(0, 120, 10):
        registry.put(make_key(first), make_page(make_key(first)))
        next((path / "pages").iterdir()).write_bytes(b"x")
        assert registry.get(make_key(first)) is None
    assert len(list((path / "quarantine").iterdir())) == 8


def fail(code: int) -> Callable[..., None]:
    def raise_it(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return raise_it


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (errno.ENOSPC, StoreFullError),
        (errno.EDQUOT, StoreFullError),
        (errno.EROFS, StoreReadOnlyError),
        (errno.EACCES, StoreReadOnlyError),
        (errno.EIO, StoreUnavailableError),
    ],
)
def test_failed_put_leaves_nothing(
    registry: Registry, path: Path, make_key, make_page, monkeypatch, code: int, error: type
) -> None:
    for call in ("fsync", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail(code))
            with pytest.raises(error):
                registry.put(make_key(), make_page(make_key()))
        assert list((path / "pages").iterdir()) == []
    assert (registry.stats().entries, registry.stats().stored) == (0, 0)
    registry.put(make_key(), make_page(make_key()))
    assert registry.get(make_key()) is not None


def test_full_disk_at_the_row_leaves_no_file(
    registry: Registry, path: Path, make_key, make_page, monkeypatch
) -> None:
    def full(*_: object) -> None:
        raise StoreFullError("full")

    monkeypatch.setattr(Index, "add", full)
    with pytest.raises(StoreFullError):
        registry.put(make_key(), make_page(make_key()))
    assert list((path / "pages").iterdir()) == []


def test_full_disk_keeps_the_old_name(registry: Registry, path: Path, monkeypatch) -> None:
    registry.register("a", "old")
    monkeypatch.setattr(os, "fsync", fail(errno.ENOSPC))
    with pytest.raises(StoreFullError):
        registry.register("a", "new")
    assert registry.lookup("a").text == "old"
    assert len(list((path / "names").iterdir())) == 1


def test_unreadable_file_is_a_miss_and_stays(
    registry: Registry, make_key, make_page, page_file: Callable[[], Path], monkeypatch
) -> None:
    registry.put(make_key(), make_page(make_key()))
    monkeypatch.setattr(os, "lstat", fail(errno.EIO))
    assert registry.get(make_key()) is None
    monkeypatch.undo()
    assert page_file().exists()
    assert torch.equal(registry.get(make_key()).keys[0], make_page(make_key()).keys[0])
