"""Namespaces, the shared remote and the audit on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

TEXT = "You answer questions about the harbour."


@pytest.fixture(autouse=True)
def default_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGCACHE_STORE", str(store))


def test_names_belong_to_a_namespace(run: Run, model: Path) -> None:
    put = run("affix", "put", "system", "--text", TEXT, "--model", model, "--namespace", "a", "--json")
    assert put.json["status"] == "built"
    listed = {
        name: [row["name"] for row in run("affix", "list", "--namespace", name, "--json").json["affixes"]]
        for name in ("a", "b", "default")
    }
    assert listed == {"a": ["system"], "b": [], "default": []}
    assert run("affix", "show", "system").code == 2
    assert TEXT in run("affix", "show", "system", "--namespace", "a").out
    assert run("affix", "remove", "system", "--namespace", "b").code == 2
    assert run("affix", "remove", "system", "--namespace", "a").code == 0


def test_a_second_machine_warms_from_the_remote(run: Run, model: Path, tmp_path: Path) -> None:
    remote = f"file://{tmp_path}/shared"
    run("affix", "put", "system", "--text", TEXT, "--model", model, "--remote", remote)
    assert len(list((tmp_path / "shared" / "pages").glob("*/*"))) == 1
    there = ("--store", tmp_path / "second", "--model", model)
    assert run("affix", "warm", "system", *there).code == 2  # it does not know the name
    from ragcache.registry import Registry

    with Registry(tmp_path / "second") as registry:
        registry.register("system", TEXT)
    [row] = run("affix", "warm", "system", *there, "--remote", remote, "--json").json["affixes"]
    assert (row["name"], row["status"]) == ("system", "hit")
    [row] = run("affix", "list", "--store", tmp_path / "second", "--json").json["affixes"]
    assert row["pages"] == 1
    assert "hit" in run("affix", "warm", "system", *there).out


def test_ask_takes_namespace_remote_and_shared(run: Run, model: Path, docs: Path, words: None) -> None:
    ask = (
        "ask",
        "When does the harbour open?",
        "--docs",
        docs,
        "--model",
        model,
        "--max-tokens",
        8,
        "--json",
    )
    private = (*ask, "--namespace", "a", "--shared", "public", "--no-compare")
    assert run(*private).code == 0
    assert run("affix", "list", "--json").json["affixes"] == []
    assert len(run("affix", "list", "--namespace", "a", "--json").json["affixes"]) > 1
    refused = run(*ask, "--remote", "nonsense")
    assert refused.code == 2
    assert "remote" in refused.err


def test_an_encrypted_store_keeps_no_vectors_and_says_when_its_key_is_missing(
    run: Run, model: Path, docs: Path, words: None, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("ask", "When does the harbour open?", "--docs", docs, "--model", model, "--max-tokens", 8)
    monkeypatch.setenv("RAGCACHE_STORE_KEY", "ab" * 32)
    assert run(*ask).code == 0
    assert not (store / "vectors").exists()
    monkeypatch.delenv("RAGCACHE_STORE_KEY")
    refused = run("affix", "list")
    assert refused.code == 2
    assert "RAGCACHE_STORE_KEY" in refused.err


def test_audit_reports_and_leaves_nothing(run: Run) -> None:
    done = run("registry", "audit", "--trials", "60", "--json")
    assert done.json["verdict"] in ("separate", "inconclusive", "leak")
    assert done.code == (0 if done.json["verdict"] == "separate" else 1)
    assert done.json["trials"] == 60
    assert done.json["across"]["cached_s"] > 0
    assert run("registry", "stats", "--json").json["entries"] == 0
    assert run("registry", "audit", "--trials", "3").code == 2
