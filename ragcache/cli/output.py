"""What the commands print: results on stdout, everything about them on stderr."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def complain(kind: str, message: str) -> None:
    """One line `kind: message` on stderr."""
    typer.echo(f"{kind}: {' '.join(message.split())}", err=True)


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on one line of stdout."""
    typer.echo(json.dumps(value))


def console(*, stderr: bool = False) -> Console:
    """A rich console that shows texts as they are: document names and answers are no markup."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


class _Complaints(logging.Handler):
    """Log records as warnings on stderr; the same message once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message not in self._said:
            self._said.add(message)
            complain("warning", message)


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Show what the library logs while a command runs."""
    log, handler = logging.getLogger("ragcache"), _Complaints()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


@dataclass
class Stopwatch:
    """Wall seconds of the stages of a command, and of all of it."""

    laps: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        """Time what is done inside under `name`."""
        started = time.perf_counter()
        yield
        self.laps[name] = time.perf_counter() - started

    def total_s(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self.started
