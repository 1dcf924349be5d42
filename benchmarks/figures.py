"""Measured values beside their targets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """A measured value beside what it is meant to be; without a target it is for comparison."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = False

    @property
    def met(self) -> str:
        """yes, no, or nothing without a target."""
        if self.target is None:
            return ""
        return "yes" if (self.value <= self.target if self.at_most else self.value >= self.target) else "no"


def timed(work: Callable[[], object]) -> float:
    """Wall seconds of `work`; its result is dropped afterwards."""
    started = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - started
    del result
    return seconds


def turns(repeats: int, **works: Callable[[], float]) -> dict[str, float]:
    """Median seconds of each of `works`, which take turns; the first round warms up."""
    rounds = [{name: work() for name, work in works.items()} for _ in range(repeats + 1)]
    return {name: median(seconds[name] for seconds in rounds[1:]) for name in works}


def table_of(figures: Iterable[Figure]) -> Table:
    """One line a figure."""
    table = Table("what", "measured", "target", "met")
    for figure in figures:
        bound = "" if figure.target is None else f"{'<=' if figure.at_most else '>='} {figure.target:g}"
        table.add_row(figure.name, f"{figure.value:.4g} {figure.unit}", bound, figure.met)
    return table
