"""JSON Lines from users: one object a line, every mistake named by line and field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragcache.errors import InputError


@dataclass(frozen=True)
class Record:
    """One object; `where` is its file and line, for messages."""

    where: str
    values: dict[str, Any]

    def check_names(self, required: Iterable[str], optional: Iterable[str] = ()) -> None:
        """Raise `InputError` for a field that is missing or unknown."""
        required = tuple(required)
        known = {*required, *optional}
        for name in required:
            if name not in self.values:
                raise InputError(f"{self.where}: field {name!r} is missing; add it")
        for name in self.values:
            if name not in known:
                raise InputError(f"{self.where}: unknown field {name!r}; known: {', '.join(sorted(known))}")

    def text(self, name: str) -> str:
        """A string with a visible character."""
        value = self.values[name]
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, "a text that is not empty")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings, each with a visible character."""
        values = self.values[name]
        if not isinstance(values, list) or not all(isinstance(v, str) and v.strip() for v in values):
            raise self.wrong(name, "a list of texts that are not empty")
        return tuple(values)

    def whole(self, name: str, *, least: int, below: int = 2**63) -> int:
        """A whole number in `least` <= n < `below`."""
        value = self.values[name]
        if type(value) is not int or not least <= value < below:
            raise self.wrong(name, f"a whole number from {least} to {below - 1}")
        return value

    def number(self, name: str) -> float:
        """A number; its range is for others to check."""
        value = self.values[name]
        if type(value) not in (int, float):
            raise self.wrong(name, "a number")
        try:
            return float(value)
        except OverflowError:
            raise self.wrong(name, "a smaller number") from None

    def wrong(self, name: str, wanted: str) -> InputError:
        """The error for a field whose value is not what is `wanted`."""
        shown = json.dumps(self.values[name])
        return InputError(
            f"{self.where}: field {name!r} must be {wanted}, not {shown[:40]}{'...' * (len(shown) > 40)}"
        )


def read_records(path: Path) -> Iterator[Record]:
    """The objects of a UTF-8 file, read as they are asked for; see `records`."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    with file:
        try:
            yield from records(file, str(path))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def records(lines: Iterable[bytes], source: str) -> Iterator[Record]:
    """The objects of `lines`; blank ones are passed over. Raises `InputError` naming the line."""
    for number, line in enumerate(lines, start=1):
        record = read_line(line, f"{source}, line {number}")
        if record is not None:
            yield record


def read_line(line: bytes, where: str) -> Record | None:
    """The object of one line, None for a blank one. Raises `InputError`."""
    try:
        text = line.decode("utf-8-sig")
        value = json.loads(text) if text.strip() else None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not a JSON object in UTF-8 ({error}); one a line") from error
    if not text.strip():
        return None
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be a JSON object, not {type(value).__name__}")
    return Record(where, value)
