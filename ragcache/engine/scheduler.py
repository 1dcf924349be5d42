"""Whose step joins the next forward: urgency, a row budget, and a bound on waiting. Knows no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ragcache.errors import ConfigError

DUE_S = 60.0  # a request that may take longer, or as long as it likes, counts as due after this time
PRIORITY_S = 10.0  # by how much a level of priority brings that forward


@dataclass(frozen=True, order=True)
class Due:
    """When a request counts as due: the earliest deadline goes first (Liu and Layland, 1973).

    `at_s` is in seconds of a monotonic clock, `number` counts requests and settles ties. As neither changes
    while others arrive, nobody is overtaken for ever, whatever their priority.
    """

    at_s: float
    number: int

    @classmethod
    def of(cls, number: int, submitted: float, priority: int = 0, timeout_s: float | None = None) -> Due:
        """Of a request that was `submitted` then and is given up after `timeout_s`."""
        allowed = DUE_S if timeout_s is None else min(timeout_s, DUE_S)
        return cls(submitted + allowed - priority * PRIORITY_S, number)


class Contender(Protocol):
    """A request whose next step is ready.

    The step computes `rows`; `passed` forwards ran without it since it became ready, which only the scheduler
    counts.
    """

    passed: int

    @property
    def due(self) -> Due:
        """See `Due`."""
        ...

    @property
    def rows(self) -> int:
        """Rows of its step, 0 or more."""
        ...


T = TypeVar("T", bound=Contender)


@dataclass(frozen=True)
class Scheduler:
    """Fills forwards of at most `max_rows` rows with steps of any kind; a larger step runs alone.

    A step that `patience` forwards have passed over goes before all that waited less, whatever is due. So
    among n requests nobody waits for more than `patience + n - 1` forwards, and between two of their steps
    others compute at most so many times `max_rows`, or the rows of the largest step. Raises `ConfigError`.
    """

    max_rows: int = 4096
    patience: int = 4

    def __post_init__(self) -> None:
        if self.max_rows < 1:
            raise ConfigError(f"max_rows_per_step must be at least 1, not {self.max_rows}")
        if self.patience < 1:
            raise ConfigError(f"patience must be at least 1 forward, not {self.patience}")

    def pick(self, contenders: Sequence[T]) -> list[T]:
        """Those whose steps make the next forward, at least one of any; counts for the others as passed."""
        chosen: list[T] = []
        room = self.max_rows
        for contender in sorted(contenders, key=self._urgency):
            contender.passed += 1
            if not chosen or contender.rows <= room:
                chosen.append(contender)
                room = max(0, room - contender.rows)
        for contender in chosen:
            contender.passed = 0
        return chosen

    def _urgency(self, contender: Contender) -> tuple[int, Due]:
        overdue = contender.passed if contender.passed >= self.patience else 0
        return -overdue, contender.due
