"""Examples from a user's file."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from ragcache.errors import InputError
from ragcache.evaluation.generators import Example
from ragcache.evaluation.jsonl import Record, read_records

T = TypeVar("T")


def read_examples(path: Path) -> list[Example]:
    """Examples of a JSONL file of `{"question", "docs": [text, ...], "answer"}`.

    Raises `InputError` naming the line and the field, or for a file without an example.
    """
    return _filled(path, [_example(record) for record in read_records(path)])


def read_questions(path: Path) -> list[tuple[str, str]]:
    """`(question, answer)` pairs of a JSONL file of `{"question", "answer"}`; raises as `read_examples`."""
    pairs = []
    for record in read_records(path):
        record.check_names(("question", "answer"))
        pairs.append((record.text("question"), record.text("answer")))
    return _filled(path, pairs)


def _example(record: Record) -> Example:
    record.check_names(("question", "docs", "answer"))
    return Example(record.text("question"), record.texts("docs"), record.text("answer"))


def _filled(path: Path, values: list[T]) -> list[T]:
    if not values:
        raise InputError(f"{path}: holds no example; write one JSON object a line")
    return values
