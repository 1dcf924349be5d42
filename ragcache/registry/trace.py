"""Traces of requests, one JSON object a line: `{"t": 0.5, "affixes": [{"id": "guide", "tokens": 812}]}`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragcache.errors import InputError
from ragcache.registry.records import LARGEST


@dataclass(frozen=True)
class TraceAffix:
    """One affix of a request. `size_bytes` and `encode_s` are None where they follow from `tokens`."""

    id: str
    tokens: int
    size_bytes: int | None = None
    encode_s: float | None = None


def read_trace(path: Path) -> Iterator[tuple[TraceAffix, ...]]:
    """The affixes of one request after the other, in the order of lines; `t` is checked and left alone.

    An affix may also say `bytes` and `encode_s`. Blank lines are skipped. Raises `InputError` naming
    the line for anything else, and for a file that cannot be read.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _request(line, f"{path}, line {number}")
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read ({error}); give a file of JSON lines") from error


def _request(line: bytes, where: str) -> tuple[TraceAffix, ...]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: no JSON ({error}); give one object a line") from error
    _check_fields(request, where, needed={"t", "affixes"})
    if not _is_number(request["t"]):
        raise InputError(f"{where}: t is {request['t']!r}; give a number of seconds")
    if not isinstance(request["affixes"], list):
        raise InputError(f"{where}: affixes is no list; give a list of objects with id and tokens")
    return tuple(_affix(affix, where) for affix in request["affixes"])


def _affix(data: Any, where: str) -> TraceAffix:
    _check_fields(data, f"{where}: an affix", needed={"id", "tokens"}, more={"bytes", "encode_s"})
    if not isinstance(data["id"], str) or not data["id"]:
        raise InputError(f"{where}: id is {data['id']!r}; give a text that is not empty")
    for name in ("tokens", "bytes"):
        if name in data and not (type(data[name]) is int and 0 < data[name] < LARGEST):
            raise InputError(f"{where}: {name} is {data[name]!r}; give a whole number above 0")
    if "encode_s" in data and not (_is_number(data["encode_s"]) and data["encode_s"] >= 0):
        raise InputError(f"{where}: encode_s is {data['encode_s']!r}; give seconds, 0 or more")
    return TraceAffix(data["id"], data["tokens"], data.get("bytes"), data.get("encode_s"))


def _check_fields(data: Any, where: str, needed: Set[str], more: Set[str] = frozenset()) -> None:
    if not isinstance(data, dict):
        raise InputError(f"{where}: {json.dumps(data)[:40]} is no object; give {', '.join(sorted(needed))}")
    if missing := needed - data.keys():
        raise InputError(f"{where}: field {min(missing)!r} is missing; add it")
    if unknown := data.keys() - needed - more:
        raise InputError(
            f"{where}: unknown field {min(unknown)!r}; known: {', '.join(sorted(needed | more))}"
        )


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < LARGEST  # neither infinite nor NaN
