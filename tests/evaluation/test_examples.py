"""Examples from files."""

import json
from pathlib import Path

import pytest

from ragcache.errors import InputError
from ragcache.evaluation.examples import read_examples, read_questions
from ragcache.evaluation.generators import Example

GOOD = {"question": "Who?", "docs": ["A text."], "answer": "Ines"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.jsonl"


def test_examples_are_read(path: Path) -> None:
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n\n" + json.dumps({**GOOD, "docs": []}).encode()
    )
    assert read_examples(path) == [Example("Who?", ("A text.",), "Ines"), Example("Who?", (), "Ines")]


def test_questions_are_read(path: Path) -> None:
    path.write_text('{"question": "Who?", "answer": "Ines"}\n')
    assert read_questions(path) == [("Who?", "Ines")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": " "}, "field 'question' must be a text"),
        ({"answer": 3}, "field 'answer' must be a text that is not empty, not 3"),
        ({"docs": ["a", ""]}, "field 'docs' must be a list of texts"),
        ({"docs": "x" * 99}, r"not \"x{39}\.\.\.$"),
        ({"extra": 1}, "unknown field 'extra'; known: answer, docs, question"),
    ],
)
def test_bad_fields_are_named(path: Path, change: dict[str, object], message: str) -> None:
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps({**GOOD, **change}))
    with pytest.raises(InputError, match="data.jsonl, line 2: .*" + message):
        read_examples(path)


def test_missing_fields_are_named(path: Path) -> None:
    path.write_text('{"question": "Who?"}')
    with pytest.raises(InputError, match="line 1: field 'answer' is missing"):
        read_questions(path)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError, match="holds no example"):
        read_examples(path)
