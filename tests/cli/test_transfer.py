"""`ragcache registry export` and `import`, and `ragcache affix verify --repair`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ragcache.registry import Registry
from ragcache.registry.index import Index

from .conftest import Result, Run

TEXT = "You answer questions about the harbour."


@pytest.fixture(autouse=True)
def default_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGCACHE_STORE", str(store))


@pytest.fixture
def exported(run: Run, model: Path, tmp_path: Path) -> Path:
    """A file with the affix `system`."""
    run("affix", "put", "system", "--text", TEXT, "--model", model)
    result = run("registry", "export", "system", "--out", tmp_path / "bundle", "--model", model)
    assert result.code == 0, result.err
    return tmp_path / "bundle"


def refused(result: Result, *parts: str) -> None:
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1].startswith("error: ")
    for part in parts:
        assert part in result.err


def test_another_machine_takes_it_and_needs_no_encoding(
    run: Run, model: Path, exported: Path, tmp_path: Path
) -> None:
    there = ("--store", tmp_path / "second", "--model", model)
    again = run("registry", "export", "system", "--out", tmp_path / "again", "--model", model, "--json").json
    taken = run("registry", "import", exported, *there, "--digest", again["digest"])
    assert taken.out.splitlines() == [f"{exported}: 1 names, 1 pages", f"digest: {again['digest']}"]
    assert (again["names"], again["pages"]) == (["system"], 1)
    assert set(again) == {"names", "pages", "size_bytes", "digest"}
    [row] = run("affix", "warm", "system", *there, "--json").json["affixes"]
    assert row["status"] == "hit"
    assert "1 of them were here already" in run("registry", "import", exported, *there).out


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda data: data[:-1], "was cut off"),
        (lambda data: data[:300] + b"x" + data[301:], "export it again"),
        (lambda data: b"", "was cut off"),
        (lambda data: b"hello", "export it again"),
    ],
)
def test_a_damaged_file_is_one_line(
    run: Run, model: Path, exported: Path, tmp_path: Path, change: Callable[[bytes], bytes], part: str
) -> None:
    exported.write_bytes(change(exported.read_bytes()))
    there = ("--store", tmp_path / "second")
    refused(run("registry", "import", exported, "--model", model, *there), str(exported), part)
    assert run("affix", "list", *there, "--json").json["affixes"] == []


def test_what_cannot_be_moved_is_one_line(run: Run, model: Path, exported: Path, tmp_path: Path) -> None:
    export = ("registry", "export", "system", "--model", model, "--out")
    refused(run(*export, tmp_path), "--out", "a folder")
    refused(run(*export, tmp_path / "no" / "where"), "no folder")
    refused(run("registry", "export", "sistem", "--out", tmp_path / "x", "--model", model), "'system'")
    refused(run("registry", "export", "system", "--out", tmp_path / "x"), "no page of this model", "warm")
    refused(run("registry", "export", "system", "--out", tmp_path / "x", "--model", "nowhere"), "nowhere")
    there = ("--store", tmp_path / "second")
    refused(run("registry", "import", exported, *there), "another model")
    refused(run("registry", "import", exported, *there, "--model", model, "--digest", "ab"), "digest")
    refused(run("registry", "import", tmp_path / "absent", *there, "--model", model), "is no file")
    assert not (tmp_path / "x").exists()


def test_other_texts_are_replaced_on_demand(run: Run, model: Path, exported: Path, tmp_path: Path) -> None:
    with Registry(tmp_path / "second") as registry:
        registry.register("system", "Ours.", namespace="tenant")
    there = ("--store", tmp_path / "second", "--model", model, "--namespace", "tenant")
    refused(run("registry", "import", exported, *there), "stands for another text")
    assert run("registry", "import", exported, *there, "--replace", "--json").json["replaced"] == ["system"]
    assert TEXT in run("affix", "show", "system", *there[:2], *there[4:]).out


def test_repair_prints_what_it_did(run: Run, exported: Path, store: Path) -> None:
    assert run("affix", "verify", "--repair").out.splitlines() == [
        "pages: 1 ok, 0 damaged and set aside",
        "names: 1 ok, 0 damaged and set aside",
        "index: 0 rows without a page dropped, 0 pages without a row adopted, 0 rows wrong and made anew",
        "leftovers of killed processes: 0 removed",
    ]
    with Registry(store) as registry:
        [row] = registry.pages()
        Index(store / "index").add(replace(row, encode_s=1e6))
    told = run("affix", "verify")
    assert (told.code, told.out.splitlines()[-1]) == (1, "run it with --repair to make the wrong rows anew")
    [name] = (store / "names").iterdir()
    name.write_bytes(b"{")
    (store / "building" / "left").write_text("")
    done = run("affix", "verify", "--repair", "--json")
    assert done.code == 1
    counts = ("ok", "damaged", "contradicted", "names", "damaged_names", "leftovers")
    assert [done.json[kind] for kind in counts] == [1, 0, 1, 0, 1, 1]
    assert "its row says something else than its header" in done.err
    assert f"name {name.stem}: cannot be read" in done.err
    assert run("affix", "verify", "--repair").code == 0


def test_stats_show_the_remote_where_there_is_one(run: Run, model: Path, tmp_path: Path) -> None:
    remote = f"file://{tmp_path}/shared"
    run("affix", "put", "system", "--text", TEXT, "--model", model, "--remote", remote)
    found = run("registry", "stats", "--remote", remote, "--json").json
    [page] = (tmp_path / "shared" / "pages").glob("*/*")
    assert found["remote"] == {"entries": 1, "size_bytes": page.stat().st_size}
    assert (
        f"remote: 1 entries, {page.stat().st_size} bytes" in run("registry", "stats", "--remote", remote).out
    )
    assert "remote" not in run("registry", "stats", "--json").json
