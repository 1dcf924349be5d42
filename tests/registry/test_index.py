from __future__ import annotations

import json
import pickle
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import diskcache
import pytest

from ragcache.errors import StoreDamagedError
from ragcache.registry.index import Index
from ragcache.registry.records import PageRow, Usage
from ragcache.registry.table import PlainDisk
from ragcache.registry.uses import Use

DIGEST = "a" * 64


@pytest.fixture
def folder(tmp_path: Path, empty_store: Path) -> Path:
    """The folder of an empty index."""
    shutil.copytree(empty_store / "index", tmp_path / "index")
    return tmp_path / "index"


def row(digest: str = DIGEST, size_bytes: int = 10) -> PageRow:
    return PageRow(digest, "nano", "float32", 4, size_bytes, 1.0, 1.0, 0, 0.5, "text")


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def plant(folder: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(folder / "cache.db")) as connection, connection:
        connection.execute(statement, values)


def plant_row(folder: Path, key: object, raw: int, mode: int, filename: str | None, value: object) -> None:
    plant(folder, "DELETE FROM Cache")
    plant(
        folder,
        "INSERT INTO Cache (key, raw, store_time, access_time, mode, filename, value, size) "
        "VALUES (?, ?, 0, 0, ?, ?, ?, 0)",
        *(key, raw, mode, filename, value),
    )


def test_rows_survive_reopening(folder: Path) -> None:
    Index(folder).add(row())
    (found,) = Index(folder).rows()
    assert (found.digest, found.size_bytes, found.encode_s) == (DIGEST, 10, 0.5)


def test_totals_follow_the_rows(folder: Path) -> None:
    index = Index(folder)
    index.add(row())
    index.add(row("b" * 64, 5))
    index.add(row("b" * 64, 7))
    assert index.usage() == Usage(2, 17)
    index.delete(DIGEST)
    index.delete(DIGEST)
    assert index.usage() == Usage(1, 7)


def test_failed_transaction_leaves_nothing(folder: Path) -> None:
    index = Index(folder)
    with pytest.raises(KeyError), index.transaction():  # noqa: PT012 (the point is what came before)
        index.add(row())
        raise KeyError
    assert (index.rows(), index.usage()) == ([], Usage())


def test_use_counts_hits_and_orders_without_a_clock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(folder)
    index.add(row())
    index.add(row("b" * 64))
    monkeypatch.setattr("time.time", lambda: -1000.0)
    index.use({DIGEST: Use(3), "c" * 64: Use(1)})
    first, last = sorted(index.rows(), key=lambda found: found.use_order)
    assert (first.digest, last.digest, last.hits) == ("b" * 64, DIGEST, 3)


def test_planted_pickles_are_never_loaded(folder: Path) -> None:
    fuse = folder / "executed"
    bomb = pickle.dumps(Bomb(fuse))
    for key, raw, mode, value in [
        (f"page:{DIGEST}", 1, 4, bomb),
        (bomb, 0, 1, "{}"),
        (bomb, 0, 4, bomb),
        ("bytes:", 1, 4, bomb),
    ]:
        Index(folder).add(row())
        plant_row(folder, key, raw, mode, None, value)
        index = Index(folder)
        assert index.row(DIGEST) is None
        assert index.rows() == []
        assert index.usage().size_bytes in (0, 10)
        index.add(row())
        index.rebuild([])
    assert not fuse.exists()
    pickle.loads(bomb)
    assert fuse.exists(), "the bomb must work for this test to mean anything"


@pytest.mark.parametrize("name", ["../victim", "victim", "{absolute}"])
def test_planted_file_names_are_neither_read_nor_removed(folder: Path, name: str) -> None:
    victims = [folder.parent / "victim", folder / "victim"]
    for victim in victims:
        victim.write_text(row().to_json())
    index = Index(folder)
    for mode in (1, 2, 3, 4):
        planted = (f"page:{DIGEST}", 1, mode, name.format(absolute=victims[0]), None)
        plant_row(folder, *planted)
        assert index.row(DIGEST) is None
        index.add(row())
        plant_row(folder, *planted)
        index.delete(DIGEST)
        plant_row(folder, *planted)
        index.rebuild([])
    assert all(victim.exists() for victim in victims)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("disk_fetch", "x"),
        ("disk__directory", "/"),
        ("_disk", "x"),
        ("eviction_policy", "least-recently-used"),
        ("cull_limit", 10),
        ("size_limit", 0),
        ("sqlite_journal_mode", "off"),
        ("timeout", 0),
    ],
)
def test_tampered_settings_have_no_effect(folder: Path, setting: str, value: object) -> None:
    Index(folder).add(row())
    plant(folder, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", setting, value)
    index = Index(folder)
    index.add(row("b" * 64))
    assert len(index.rows()) == 2
    plant_row(folder, f"page:{DIGEST}", 1, 4, None, pickle.dumps(Bomb(folder / "executed")))
    assert Index(folder).row(DIGEST) is None
    assert not (folder / "executed").exists()


def test_rows_of_another_shape_are_absent(folder: Path) -> None:
    index = Index(folder)
    for text in ("{}", "[]", "1", "not json", b"bytes", 5, '{"digest": "../../etc/passwd"}'):
        plant_row(folder, f"page:{DIGEST}", 1, 1, None, text)
        assert index.rows() == []
    plant_row(folder, f"page:{DIGEST}", 1, 1, None, row().to_json())
    assert index.rows() == [row()]


@pytest.mark.parametrize(
    ("field", "value"), [("digest", "../x"), ("size_bytes", -1), ("use_order", 2**63), ("hits", True)]
)
def test_rows_with_impossible_values_are_absent(field: str, value: object) -> None:
    fields = json.loads(row().to_json())
    assert PageRow.from_json(json.dumps(fields)) == row()
    assert PageRow.from_json(json.dumps({**fields, field: value})) is None


@pytest.mark.parametrize("garbage", [b"", b"garbage", b"SQLite format 3\0" + b"\xff" * 5000])
def test_garbage_is_replaced_by_an_empty_index(folder: Path, garbage: bytes) -> None:
    Index(folder).close()
    for file in folder.iterdir():
        file.write_bytes(garbage)
    index = Index(folder)
    index.add(row())
    assert len(index.rows()) == 1


def test_foreign_trigger_makes_the_index_worthless(folder: Path) -> None:
    Index(folder).add(row())
    plant(folder, "CREATE TRIGGER evil AFTER INSERT ON Cache BEGIN DELETE FROM Cache; END")
    index = Index(folder)
    assert index.rows() == []
    index.add(row())
    assert len(index.rows()) == 1


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE Cache SET value = CAST(X'ff' AS TEXT) WHERE key = 'page:{DIGEST}'",
        "ALTER TABLE Cache DROP COLUMN tag",
        "CREATE TABLE foreign_table (x)",
    ],
)
def test_unreadable_rows_and_foreign_schema_start_the_index_anew(folder: Path, statement: str) -> None:
    Index(folder).add(row())
    plant(folder, statement)
    index = Index(folder)
    assert index.rows() == []
    index.add(row())
    assert (len(index.rows()), index.usage()) == (1, Usage(1, 10))


def test_damage_while_open_is_a_typed_error(folder: Path) -> None:
    index = Index(folder)
    plant(folder, "DROP TABLE Cache")
    with pytest.raises(StoreDamagedError, match="open it again"):
        index.rows()


def test_disk_stores_plain_values_only(folder: Path) -> None:
    with diskcache.Cache(str(folder), disk=PlainDisk) as cache:
        for value in ("text", b"bytes", 1, 1.5):
            cache["key"] = value
            assert cache["key"] == value
        for value in (None, [1], {"a": 1}, True):
            with pytest.raises(TypeError, match="index values"):
                cache["key"] = value
        with pytest.raises(TypeError, match="index keys"):
            cache[("a", 1)] = "x"


def test_files_are_private(folder: Path) -> None:
    Index(folder).add(row())
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
