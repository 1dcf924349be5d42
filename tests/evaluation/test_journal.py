"""Journals that are stopped, resumed, mixed up and damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ragcache.errors import InputError
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.journal import Journal

HEADER: dict[str, Any] = {
    "model": "f00d",
    "options": {"max_tokens": 32, "stop": None},
    "datasets": ["single"],
}
FIRST = Answer(
    "single",
    "full",
    "",
    0,
    "Who?",
    "Ines",
    "Ines.",
    (1, 2),
    1.0,
    1.0,
    None,
    None,
    1.0,
    4,
    90,
    0.0,
    0.1,
    0.5,
    0,
)
SECOND = replace(FIRST, policy="direct", text="an\u2028other\r\n\ud800", agreement=0.5, kl=0.1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def written(path: Path) -> Path:
    with Journal(path, HEADER) as journal:
        journal.append(FIRST)
        journal.append(SECOND)
    return path


def answers(path: Path) -> list[Answer]:
    with Journal(path, HEADER) as journal:
        return journal.answers


def test_answers_are_kept(written: Path) -> None:
    assert [json.loads(line) for line in written.read_bytes().split(b"\n")[:-1]] == [
        {"ragcache_eval": 1, **HEADER},
        FIRST.to_json(),
        SECOND.to_json(),
    ]
    with Journal(written, HEADER) as journal:
        assert journal.answers == [FIRST, SECOND]
        assert journal.done == {("single", "full", "", "raw", 0), ("single", "direct", "", "raw", 0)}
        journal.append(replace(FIRST, index=1))
    assert len(answers(written)) == 3


def test_an_answer_is_on_the_disk_at_once(path: Path) -> None:
    with Journal(path, HEADER) as journal:
        journal.append(FIRST)
        assert path.read_bytes().count(b"\n") == 2


def test_a_run_killed_at_any_byte_goes_on(written: Path) -> None:
    whole = written.read_bytes()
    lines = whole.splitlines(keepends=True)
    for size in [*range(0, len(whole), 97), len(lines[0]) - 1, len(lines[0]) + 1, len(whole) - 1]:
        written.write_bytes(whole[:size])
        kept = answers(written)
        assert kept == [FIRST, SECOND][: max(0, whole[:size].count(b"\n") - 1)]
        with Journal(written, HEADER) as journal:
            for answer in (FIRST, SECOND):
                if answer.key not in journal.done:
                    journal.append(answer)
        assert written.read_bytes() == whole


def test_a_killed_process_leaves_no_lock(path: Path) -> None:
    code = (
        "import os, sys, pathlib; from ragcache.evaluation.journal import Journal;"
        f"journal = Journal(pathlib.Path(sys.argv[1]), {HEADER!r}); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    assert path.exists()
    assert answers(path) == []


def test_only_one_may_write(path: Path) -> None:
    with Journal(path, HEADER), pytest.raises(InputError, match="another evaluation writes to it"):
        Journal(path, HEADER)
    journal = Journal(path, HEADER)
    journal.close()
    journal.close()
    assert [found.name for found in path.parent.iterdir()] == ["run.jsonl"]


def test_another_process_may_not_write(path: Path) -> None:
    code = (
        "import sys, pathlib; from ragcache.evaluation.journal import Journal;"
        f"Journal(pathlib.Path(sys.argv[1]), {HEADER!r})"
    )
    with Journal(path, HEADER):
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert "InputError: " in done.stderr
    assert "another evaluation writes to it" in done.stderr


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({**HEADER, "model": "beef"}, 'written with model "f00d", now "beef"; choose another file or delete'),
        ({**HEADER, "options": {"max_tokens": 64, "stop": None}}, "with options.max_tokens 32, now 64"),
        ({**HEADER, "options": {"max_tokens": 32}}, "with options.stop null, now missing"),
        ({**HEADER, "seed": 0}, "with seed missing, now 0"),
        ({**HEADER, "datasets": ["x" * 99]}, r'now \["x{55}\.\.\.; choose'),
    ],
)
def test_another_header_is_refused(written: Path, header: dict[str, Any], message: str) -> None:
    before = written.read_bytes()
    with pytest.raises(InputError, match=f"run.jsonl: was {message}|{message}"):
        Journal(written, header)
    assert written.read_bytes() == before
    assert answers(written) == [FIRST, SECOND]


def test_tuples_are_lists(written: Path) -> None:
    with Journal(written, {**HEADER, "datasets": ("single",)}) as journal:
        assert len(journal.done) == 2


@pytest.mark.parametrize("content", ["hello", "{}\n", "\n", json.dumps(FIRST.to_json()) + "\n"])
def test_a_file_that_is_no_journal_stays_as_it_is(path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(InputError, match="not the results of an evaluation; choose another"):
        Journal(path, HEADER)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"dataset": "sin', "line 2: not a JSON object"),
        (b"\x00\x00\x00", "line 2: not a JSON object"),
        (b"[1]", "line 2: must be a JSON object"),
        (b'{"dataset": "single"}', "line 2: field 'policy' is missing"),
        (json.dumps(SECOND.to_json()).encode(), "line 3: a second answer .* policy 'direct'"),
    ],
)
def test_damage_in_the_middle_is_named(written: Path, line: bytes, message: str) -> None:
    header, _, last = written.read_bytes().splitlines(keepends=True)
    damaged = header + line + b"\n" + last
    written.write_bytes(damaged)
    with pytest.raises(InputError, match=f"run.jsonl, {message}"):
        Journal(written, HEADER)
    assert written.read_bytes() == damaged


def test_an_answer_counts_once(written: Path) -> None:
    before = written.read_bytes()
    with Journal(written, HEADER) as journal:
        with pytest.raises(InputError, match="a second answer for dataset 'single', policy 'full'"):
            journal.append(FIRST)
        with pytest.raises(InputError, match="new answer: field 'kl' must be a finite number"):
            journal.append(replace(FIRST, index=1, kl=float("nan")))
    assert written.read_bytes() == before


class FullDisk:
    """A file on a disk that has room for five more bytes."""

    def __init__(self, file: Any) -> None:
        self.file, self.room = file, 5

    def write(self, data: memoryview) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        count = self.file.write(data[: self.room])
        self.room -= count
        return cast(int, count)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def test_a_full_disk_loses_one_answer_only(written: Path) -> None:
    before, third = written.read_bytes(), replace(FIRST, index=7)
    with Journal(written, HEADER) as journal:
        file = journal._file
        journal._file = cast(Any, FullDisk(file))
        with pytest.raises(InputError, match="No space left on device"):
            journal.append(third)
        assert written.read_bytes() == before
        journal._file = file
        journal.append(third)
    assert answers(written) == [FIRST, SECOND, third]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/such/run.jsonl", "there is no folder .*such; make it first"),
        (".", "cannot be read and written .*; choose another file"),
        ("x" * 300, "cannot be written .*; choose another"),
    ],
)
def test_a_path_that_cannot_be_written_is_named(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Journal(tmp_path / name, HEADER)
    assert list(tmp_path.iterdir()) == []
