"""What an engine and a replica say to each other, after the `ReplicaSpec` that the engine begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragcache.engine.costs import RowCost

START = 0  # the number under which a replica tells its `Outline`, or why it cannot serve


@dataclass(frozen=True)
class Ask:
    """Have the replica's engine do `call`; what comes of it is said under `number`."""

    number: int
    call: str
    args: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cancel:
    """Nobody waits for `number` any more; something is said of it all the same."""

    number: int


@dataclass(frozen=True)
class Text:
    """The answer to `number` so far."""

    number: int
    text: str


@dataclass(frozen=True)
class Result:
    """What `number` came to, and what the replica's forwards took so far."""

    number: int
    value: Any
    row_cost: RowCost


@dataclass(frozen=True)
class Failed:
    """The error that `number` ended with, see `error_to_plain`."""

    number: int
    error: Mapping[str, Any]
    row_cost: RowCost
