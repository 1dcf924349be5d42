"""`ragcache affix`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcache.errors import StoreFullError
from ragcache.registry import Registry

from .conftest import TEXTS, WINDOW, Result, Run

TEXT = "You answer questions about the harbour."


@pytest.fixture(autouse=True)
def default_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGCACHE_STORE", str(store))


@pytest.fixture
def put(run: Run, model: Path) -> Run:
    def put(name: str, *options: object) -> Result:
        return run("affix", "put", name, "--model", model, *options)

    return put


def refused(result: Result, *parts: str) -> None:
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1].startswith("error: ")
    for part in parts:
        assert part in result.err


def names(run: Run) -> list[str]:
    return [row["name"] for row in run("affix", "list", "--json").json["affixes"]]


def test_put_builds_once(put: Run) -> None:
    first, second = (put("system", "--text", TEXT, "--json").json for _ in range(2))
    assert (first["status"], second["status"]) == ("built", "hit")
    assert first["tokens"] == second["tokens"] > 8
    assert first["size_bytes"] == second["size_bytes"] > 1000


def test_list_show_remove(run: Run, put: Run) -> None:
    assert "built" in put("system", "--text", TEXT).out
    [row] = run("affix", "list", "--json").json["affixes"]
    shown = run("affix", "show", "system", "--json").json
    assert (row["name"], row["characters"], row["pages"]) == ("system", len(TEXT), 1)
    assert shown["text"] == TEXT
    assert shown["pages"][0]["tokens"] == row["tokens"]
    assert {"model", "tokens", "size_bytes", "hits"} <= set(shown["pages"][0])
    assert "system" in run("affix", "list").out
    assert TEXT in run("affix", "show", "system").out
    assert run("affix", "remove", "system").code == 0
    assert names(run) == []
    refused(run("affix", "show", "system"), "no affix is called 'system'")


@pytest.mark.usefixtures("words")
def test_a_file_has_the_page_that_ask_uses(put: Run, run: Run, docs: Path, model: Path) -> None:
    (docs / "kettle.md").write_bytes(b"\xef\xbb\xbf" + TEXTS["kettle.md"].encode() + b"  \r\n\r\n")
    assert put("my kettle", "--file", docs / "kettle.md").code == 0
    found = run(
        "ask", "Which kettle?", "--docs", docs / "kettle.md", "--model", model, "--max-tokens", 4, "--json"
    )
    uses = {affix["name"]: affix["status"] for affix in found.json["reuse"]["affixes"]}
    assert uses["kettle.md"] == "hit"


@pytest.mark.parametrize("options", [(), ("--text", "a", "--file", "b.md")])
def test_put_needs_one_source(put: Run, options: tuple[str, ...]) -> None:
    refused(put("x", *options), "either --file or --text")


@pytest.mark.parametrize(
    ("name", "options", "part"),
    [
        ("", ("--text", TEXT), "affix name"),
        ("a\0b", ("--text", TEXT), "NUL"),
        ("x", ("--text", " \n"), "empty"),
        ("x", ("--file", "nowhere.md"), "no such file"),
        ("x", ("--file", "f" * 300), "cannot be read"),
        ("x", ("--text", "harbour " * WINDOW), f"over the model's window of {WINDOW}"),
    ],
)
def test_what_is_refused_leaves_no_name(
    put: Run, run: Run, name: str, options: tuple[str, ...], part: str
) -> None:
    refused(put(name, *options), part)
    assert names(run) == []
    assert run("affix", "verify", "--json").json["ok"] == 0


def test_a_folder_is_no_file(put: Run, docs: Path) -> None:
    refused(put("x", "--file", docs), "a folder")


def test_a_page_that_cannot_be_stored_is_an_error(
    put: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFullError("no room left")

    with monkeypatch.context() as patch:
        patch.setattr(Registry, "put", full)
        refused(put("x", "--text", TEXT), "affix 'x': not stored: no room left")
    assert names(run) == []


def test_texts_too_short_to_reuse_are_warned_of(put: Run) -> None:
    result = put("x", "--text", "Hi.")
    assert result.code == 0
    assert "under 8 tokens" in result.err


def test_close_names_are_suggested(put: Run, run: Run) -> None:
    put("system", "--text", TEXT)
    refused(run("affix", "remove", "sistem"), "did you mean 'system'?")


@pytest.mark.parametrize("cut", [1, 2000], ids=["a byte of the tensors", "the end of the file"])
def test_verify_exits_1_on_damage(put: Run, run: Run, store: Path, cut: int) -> None:
    put("system", "--text", TEXT)
    assert run("affix", "verify", "--json").json["ok"] == 1
    [page] = store.glob("pages/*")
    data = page.read_bytes()
    page.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if cut == 1 else data[:-cut])
    result = run("affix", "verify", "--json")
    assert (result.code, result.json["damaged"], result.json["ok"]) == (1, 1, 0)
    assert run("affix", "verify").code == 0  # it was set aside


def test_an_unusable_store(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refused(run("affix", "list", "--store", tmp_path / "file"), "--store")


def test_a_codec_makes_a_smaller_page(run: Run, put: Run) -> None:
    options = ("system", "--text", TEXT, "--json", "--codec")
    sizes = {codec: put(*options, codec).json["size_bytes"] for codec in ("raw", "int8")}
    assert sizes["int8"] < sizes["raw"]
    pages = run("affix", "show", "system", "--json").json["pages"]
    assert {page["codec"]: page["size_bytes"] for page in pages} == sizes
    assert "int8)" in run("affix", "show", "system").out
    refused(put(*options, "zip"), "unknown codec 'zip'")
