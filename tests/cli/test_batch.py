"""`ragcache batch`: rows for every line, exit codes, and going on."""

from __future__ import annotations

import json
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from ragcache.pipelines.batch_qa import Results
from ragcache.registry import Registry
from reference.compiler import needs_compiler

from .conftest import Result, Run

LINES = [
    {"custom_id": "1", "question": "What colour is the kettle?", "docs": ["kettle.md"]},
    {"custom_id": "2", "question": "Who designed the lamp?", "docs": ["lamp.txt"], "max_tokens": 4},
]
BAD = {"custom_id": "3", "question": "What is it?", "docs": ["nothing.md"]}


class Batch:
    """Runs `ragcache batch` on lines."""

    def __init__(self, run: Run, docs: Path, model: Path, tmp_path: Path) -> None:
        self.source, self.out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        self._run = run
        self._options = ("--docs", docs, "--model", model, "--store", tmp_path / "store", "--max-tokens", 8)

    def __call__(self, lines: list[dict[str, Any]], *options: object) -> Result:
        self.source.write_text("\n".join(map(json.dumps, lines)))
        return self.run(self.source, *options)

    def run(self, source: object, *options: object) -> Result:
        return self._run("batch", "-i", source, "-o", self.out, *self._options, *options)

    def rows(self) -> dict[str, Any]:
        return {row["custom_id"]: row for row in map(json.loads, self.out.read_text().splitlines())}


@pytest.fixture
def batch(run: Run, docs: Path, model: Path, tmp_path: Path) -> Batch:
    return Batch(run, docs, model, tmp_path)


def test_all_fine(batch: Batch) -> None:
    result = batch(LINES)
    assert result.code == 0
    assert "2 answered, 0 failed" in result.err
    assert "saved)" in result.err
    assert {key: row["error"] for key, row in batch.rows().items()} == {"1": None, "2": None}


@pytest.mark.slow
def test_replicas_answer_as_one_engine_does(batch: Batch) -> None:
    assert batch(LINES).code == 0
    expected = {key: row["answer"] for key, row in batch.rows().items()}
    result = batch(LINES, "--overwrite", "--replica", "cpu", "--replica", "cpu", "--json")
    assert (result.code, result.json["ok"]) == (0, 2)
    assert {key: row["answer"] for key, row in batch.rows().items()} == expected


@needs_compiler
def test_compiled_layers_answer_as_eager_ones_do(batch: Batch) -> None:
    batch(LINES)
    eager = {key: row["answer"] for key, row in batch.rows().items()}
    result = batch(LINES, "--overwrite", "--compile")
    assert (result.code, {key: row["answer"] for key, row in batch.rows().items()}) == (0, eager)


def test_some_failed_then_mended(batch: Batch) -> None:
    assert batch([*LINES, BAD]).code == 1
    assert batch.rows()["3"]["error"]["code"] == "missing_document"
    result = batch([*LINES, {**BAD, "docs": ["lamp.txt"]}], "--resume", "--json")
    assert (result.code, result.json["ok"], result.json["skipped"]) == (0, 1, 2)
    assert sorted(batch.rows()) == ["1", "2", "3"]


def test_a_dry_run_writes_nothing(batch: Batch) -> None:
    result = batch([*LINES, BAD], "--dry-run")
    shown = [json.loads(line) for line in result.out.splitlines()]
    assert [row.get("code", row.get("over")) for row in shown] == [0, 0, "missing_document"]
    assert not batch.out.exists()


def test_pages_are_the_namespaces_and_the_codecs(batch: Batch, tmp_path: Path) -> None:
    assert batch(LINES, "--namespace", "tenant", "--codec", "int8").code == 0
    with Registry(tmp_path / "store") as registry:
        assert {(row.namespace, row.codec) for row in registry.pages()} == {("tenant", "int8")}


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ([], (), "holds no question"),
        (LINES, ("--policy", "magic@2"), "unknown policy"),
        (LINES, ("--codec", "int2"), "unknown codec"),
        (LINES, ("--namespace", ""), "namespace"),
        (LINES, ("--resume", "--overwrite"), "exclude each other"),
    ],
)
def test_usage_errors(
    batch: Batch, lines: list[dict[str, Any]], options: tuple[str, ...], message: str
) -> None:
    result = batch(lines, *options)
    assert result.code == 2
    assert message in result.err


def test_lines_come_from_stdin_too(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\xef\xbb\xbf" + b"\r\n".join(json.dumps(line).encode() for line in LINES) + b"\r\n\r\n"
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(data)))
    assert batch.run("-").code == 0
    assert {key: row["error"] for key, row in batch.rows().items()} == {"1": None, "2": None}


def test_ctrl_c_keeps_finished_rows(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Results.write

    def interrupted(self: Results, row: Any) -> None:
        write(self, row)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Results, "write", interrupted)
        result = batch(LINES)
    assert (result.code, result.out, result.err) == (130, "", "")
    assert len(batch.rows()) == 1
    assert batch(LINES, "--resume", "--json").json["skipped"] == 1
    assert sorted(batch.rows()) == ["1", "2"]


def test_without_a_terminal_there_is_one_line_and_no_bar(batch: Batch) -> None:
    result = batch(LINES)
    assert (result.out, result.err.count("\n"), "\x1b" in result.err) == ("", 1, False)
    assert result.err.startswith("2 answered")


def test_a_model_that_is_none_leaves_no_file(batch: Batch) -> None:
    result = batch(LINES, "--model", "no such model")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert not batch.out.exists()


def test_output_is_never_the_input_nor_lost(batch: Batch) -> None:
    batch.out = batch.source
    result = batch(LINES, "--overwrite")
    assert (result.code, "is the input as well" in result.err) == (2, True)
    assert len(batch.source.read_text().splitlines()) == 2
