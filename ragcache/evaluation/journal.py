"""Answers kept while an evaluation runs, so that it can be stopped at any moment and go on later.

A journal is JSON Lines: a header, then one answer a line, each written at once. A process killed while it
writes leaves a last line without a line end, which is dropped, to be computed again; all else counts.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ragcache.closing import Closing
from ragcache.errors import InputError
from ragcache.evaluation.answers import Answer, Key
from ragcache.evaluation.exclusive import exclusive
from ragcache.evaluation.jsonl import Record, records

_FORMAT = {"ragcache_eval": 1}
_ELSE = "choose another file or delete it"
_NOTHING = object()


class Journal(Closing):
    """The answers in the file at `path`, which is made when absent; a context manager, for one thread.

    `header` is what must be equal for answers to belong together: JSON values by name, such as model,
    options, data sets and seed. Raises `InputError` when the file was written with another header, is
    damaged, is open elsewhere, or cannot be read and written.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self._path = path
        self._answers: dict[Key, Answer] = {}
        with ExitStack() as stack:
            stack.enter_context(exclusive(path, "evaluation"))
            with self._translated():
                # Unbuffered, so that a failed write leaves nothing to be written later.
                self._file = stack.enter_context(path.open("a+b", buffering=0))
                self._load(_line({**_FORMAT, **header}))
            self._open = stack.pop_all()

    @property
    def done(self) -> set[Key]:
        """The keys of all answers (`Answer.key`)."""
        return set(self._answers)

    @property
    def answers(self) -> list[Answer]:
        """All answers, oldest first."""
        return list(self._answers.values())

    def append(self, answer: Answer) -> None:
        """Write one more answer through to the file.

        Raises `InputError` for one that is there already or could not be read back, and for a full disk.
        """
        values = answer.to_json()
        Answer.from_record(Record(f"{self._path}: new answer", values))
        self._add(answer, f"{self._path}: new answer")
        try:
            self._write(_line(values))
        except InputError:
            del self._answers[answer.key]
            raise

    def close(self) -> None:
        """Let others open the file; may be called twice."""
        self._open.close()

    def _load(self, header: bytes) -> None:
        self._file.seek(0)
        data = self._file.readall()
        whole = data.rfind(b"\n") + 1
        if not whole and not header.startswith(data):
            raise InputError(f"{self._path}: not the results of an evaluation; choose another file")
        found = records(io.BytesIO(data[:whole]), str(self._path))
        if whole:
            _compare(self._path, next(found, None), json.loads(header))
        for record in found:
            self._add(Answer.from_record(record), record.where)
        self._file.truncate(whole)
        if not whole:
            self._write(header)

    def _add(self, answer: Answer, where: str) -> None:
        if answer.key in self._answers:
            raise InputError(
                f"{where}: a second answer for dataset {answer.dataset!r}, policy {answer.policy!r}, "
                f"placement {answer.placement!r}, codec {answer.codec!r}, index {answer.index}; "
                "remove one of the two"
            )
        self._answers[answer.key] = answer

    def _write(self, line: bytes) -> None:
        with self._translated():
            end = self._file.seek(0, os.SEEK_END)
            rest = memoryview(line)
            try:
                while rest:
                    rest = rest[self._file.write(rest) :]
            except OSError:
                with suppress(OSError):
                    self._file.truncate(end)
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"{self._path}: cannot be read and written ({error.strerror or error}); choose another file"
            ) from error


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, allow_nan=False).encode() + b"\n"


def _compare(path: Path, found: Record | None, wanted: dict[str, Any]) -> None:
    """Raise `InputError` naming the first field in which the headers differ."""
    if found is None or "ragcache_eval" not in found.values:
        raise InputError(f"{path}: not the results of an evaluation; choose another file")
    old, new = _flat(found.values), _flat(wanted)
    for name in {**new, **old}:
        before, now = old.get(name, _NOTHING), new.get(name, _NOTHING)
        if before != now:
            raise InputError(f"{path}: was written with {name} {_shown(before)}, now {_shown(now)}; {_ELSE}")


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Fields by their dotted path, so that a difference inside an object is named."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def _shown(value: object) -> str:
    if value is _NOTHING:
        return "missing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
