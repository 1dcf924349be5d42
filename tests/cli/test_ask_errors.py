"""What `ragcache ask` refuses: exit code 2, one line that says what to do, nothing on stdout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Result, Run

pytestmark = pytest.mark.usefixtures("words")
Ask = Callable[..., Result]


@pytest.fixture
def ask(run: Run, model: Path, docs: Path, store: Path) -> Ask:
    """Asks; keywords replace the usual options."""

    def ask(question: str = "What?", **changed: object) -> Result:
        options = {"docs": docs, "model": model, "store": store, "max_tokens": 4, **changed}
        words = [w for name, value in options.items() for w in (f"--{name.replace('_', '-')}", value)]
        return run("ask", question, *words)

    return ask


def refused(result: Result, *parts: str) -> None:
    """Exit code 2, and one error line that holds `parts`."""
    assert (result.code, result.out) == (2, "")
    lines = [line for line in result.err.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.err
    for part in parts:
        assert part in lines[0]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"budget": 1.5}, "budget 1.5 lies outside 0..1"),
        ({"budget": -0.1}, "budget -0.1 lies outside 0..1"),
        ({"budget": "nan"}, "budget nan lies outside 0..1"),
        ({"policy": "magic"}, "unknown policy 'magic'"),
        ({"codec": "zip"}, "unknown codec 'zip'"),
        ({"policy": "full", "budget": 0.5}, "give one"),
        ({"model": "no-such-model"}, "unknown model 'no-such-model'"),
        ({"device": "abacus"}, "unknown device 'abacus'"),
        ({"device": "meta"}, "device 'meta' is not supported"),
        ({"model": "m" * 300}, "unknown model 'mmm"),
        ({"store": "~nobody-is-called-so/" + "s" * 300}, "--store: cannot create the store folder"),
        ({"seed": -1}, "seed must be from 0"),
        ({"top_k": 0}, "--top-k must be at least 1"),
        ({"decoding": "top_p=2"}, "top_p must be above 0 and at most 1"),
        ({"decoding": "colour=red"}, "unknown decoding option 'colour'"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"max_tokens": 10_000}, "over the model's window of 512"),
    ],
    ids=str,
)
def test_options_out_of_range(ask: Ask, options: dict[str, object], part: str) -> None:
    refused(ask(**options), part)


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question(ask: Ask, question: str) -> None:
    refused(ask(question), "the question is empty")


def test_a_missing_path(ask: Ask, tmp_path: Path) -> None:
    refused(ask(docs=tmp_path / "nowhere"), "nowhere: no such file or folder")


def test_an_empty_folder(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(ask(docs=tmp_path / "empty"), "no file to read in this folder")


def test_a_file_that_is_not_utf8(ask: Ask, docs: Path) -> None:
    (docs / "latin.txt").write_bytes("Größe".encode("latin-1"))
    refused(ask(), "latin.txt: not UTF-8 text", "iconv")


def test_a_document_that_does_not_fit(ask: Ask, docs: Path) -> None:
    (docs / "long.md").write_text("What? " + "\u6d77" * 1000)
    refused(ask(top_k=1), "over the model's window of 512", "shorter documents")


def test_a_prompt_that_does_not_fit(ask: Ask, docs: Path) -> None:
    for number in range(8):
        (docs / f"{number}.md").write_text(f"{number} " + "zebra " * 20)
    refused(ask(top_k=8), "over the model's window of 512", "--top-k")


def test_a_model_folder_without_weights(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    refused(ask(model=tmp_path / "bare"), "no config.json")


def test_a_store_that_is_a_file(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refused(ask(store=tmp_path / "file"), "--store", "cannot create the store folder")


def test_a_store_with_foreign_files(ask: Ask, store: Path) -> None:
    store.mkdir(mode=0o700)
    (store / "thesis.md").write_text("x")
    refused(ask(), "--store", "thesis.md", "choose an empty folder")


def test_a_store_of_a_newer_format(ask: Ask, store: Path) -> None:
    assert ask().code == 0
    (store / "version.json").write_text(json.dumps({"format": 999}))
    refused(ask(), "--store", "format 999", "update ragcache")


def test_a_store_that_lost_its_secret(ask: Ask, store: Path) -> None:
    assert ask().code == 0
    (store / "secret").unlink()
    refused(ask(), "--store", "secret", "lost or damaged")


def test_the_environment_names_the_store(
    run: Run, model: Path, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("RAGCACHE_STORE", str(tmp_path / "file"))
    refused(run("ask", "What?", "--docs", docs, "--model", model), str(tmp_path / "file"))
