"""The output file: rows survive, torn ones do not, and models are never mixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragcache.errors import ConfigError, InputError
from ragcache.pipelines.batch_qa import Results

OK = {"custom_id": "a", "answer": "x", "error": None}
BAD = {"custom_id": "b", "answer": None, "error": {"code": "engine_error"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def results(path: Path, **options: Any) -> Results:
    return Results(path, **{"model": "nano", "fingerprint": "f0", **options})


def ids(path: Path) -> list[str]:
    return [json.loads(line)["custom_id"] for line in path.read_text().splitlines()]


def test_every_row_is_there_as_soon_as_it_is_written(path: Path) -> None:
    with results(path) as out:
        out.write(OK)
        assert ids(path) == ["a"]
    assert json.loads(path.read_text())["fingerprint"] == "f0"


def test_going_on_keeps_answers_and_tries_failures_again(path: Path) -> None:
    with results(path) as out:
        out.write(OK)
        out.write(BAD)
    with path.open("ab") as file:
        file.write(b'{"custom_id": "c", "ans')  # cut off by a kill
    with results(path, resume=True) as out:
        assert out.finished == {"a"}
        out.write({**BAD, "error": None})
    assert ids(path) == ["a", "b"]


def test_going_on_without_a_file_starts_one(path: Path) -> None:
    with results(path, resume=True) as out:
        assert out.finished == frozenset()


def test_nothing_is_overwritten_unasked(path: Path) -> None:
    path.write_text("mine\n")
    with pytest.raises(ConfigError, match="exists already"):
        results(path)
    assert path.read_text() == "mine\n"
    with results(path, overwrite=True):
        assert path.read_text() == ""
    with pytest.raises(ConfigError, match="exclude each other"):
        results(path, resume=True, overwrite=True)


@pytest.mark.parametrize("line", ["mine", "[]", '{"custom_id": "a"}', "3"])
def test_a_file_of_something_else_is_left_alone(path: Path, line: str) -> None:
    path.write_text(line + "\n")
    with pytest.raises(InputError, match="line 1: not a row of a batch"):
        results(path, resume=True)
    assert path.read_text() == line + "\n"


def test_answers_of_two_models_are_not_mixed(path: Path) -> None:
    with results(path) as out:
        out.write(OK)
    with pytest.raises(InputError, match="two models"):
        results(path, fingerprint="f1", resume=True)
    assert ids(path) == ["a"]


def test_one_writer_at_a_time(path: Path) -> None:
    with results(path), pytest.raises(ConfigError, match="another batch"):
        results(path, resume=True)
    with results(path, resume=True):
        pass
    assert sorted(file.name for file in path.parent.iterdir()) == ["out.jsonl"]


def test_an_impossible_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        results(tmp_path / "no" / "out.jsonl")
