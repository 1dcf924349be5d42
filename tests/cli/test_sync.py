"""`ragcache sync`: a folder's chunks as affixes."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run


def test_a_dry_run_says_what_the_run_then_does(run: Run, docs: Path, model: Path, tmp_path: Path) -> None:
    options = ("sync", docs, "--model", model, "--store", tmp_path / "store")
    dry = run(*options, "--dry-run", "--json").json
    assert (len(dry["added"]), dry["built"]) == (3, 0)
    assert run("affix", "list", "--store", tmp_path / "store", "--json").json["affixes"] == []
    done = run(*options, "--json").json
    assert (done["added"], done["built"]) == (dry["added"], 3)
    again = run(*options).out
    assert "0 added, 0 changed, 0 removed, 3 unchanged; 0 pages built" in again


def test_names_alone_need_no_model(run: Run, docs: Path, tmp_path: Path) -> None:
    result = run("sync", docs, "--names-only", "--model", "no/such", "--store", tmp_path / "store")
    assert result.code == 0
    assert "+ kettle.md" in result.out


def test_names_and_pages_of_a_namespace(run: Run, docs: Path, model: Path, tmp_path: Path) -> None:
    place = ("--store", tmp_path / "store", "--namespace", "tenant")
    assert run("sync", docs, "--model", model, "--codec", "int8", *place, "--json").json["built"] == 3
    assert len(run("affix", "list", *place, "--json").json["affixes"]) == 3
    assert run("affix", "list", "--store", tmp_path / "store", "--json").json["affixes"] == []
    [page] = run("affix", "show", "kettle.md", *place, "--json").json["pages"]
    assert page["codec"] == "int8"


def test_an_unknown_codec(run: Run, docs: Path, tmp_path: Path) -> None:
    result = run("sync", docs, "--codec", "int2", "--store", tmp_path / "store")
    assert (result.code, "unknown codec 'int2'" in result.err) == (2, True)


def test_no_folder(run: Run, tmp_path: Path) -> None:
    result = run("sync", tmp_path / "nowhere", "--store", tmp_path / "store")
    assert result.code == 2
    assert "nowhere" in result.err
