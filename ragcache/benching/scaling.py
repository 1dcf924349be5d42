"""Whether the cost of a refresh grows in a line with its live rows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcache.benching.drive import alone_s
from ragcache.benching.figures import percentile
from ragcache.benching.load import Load
from ragcache.benching.measure import open_arms
from ragcache.benching.systems import System
from ragcache.engine import LoadedModel, Request
from ragcache.errors import ConfigError

PROMPTS = (512, 1024, 2048, 4096, 8192)  # tokens
REQUESTS = 5  # of each length, one at a time


@dataclass(frozen=True)
class Fit:
    """The line `intercept_s + slope_s * rows` through `points` (live rows, seconds), by least squares.

    Each point is that of prompts of so many tokens (`prompts`). `off` is how far the worst one is from the
    line, as a share of its seconds: R^2 hardly sees what the small ones do.
    """

    system: str
    prompts: tuple[int, ...]
    points: tuple[tuple[float, float], ...]
    slope_s: float
    intercept_s: float
    r2: float
    off: float

    @classmethod
    def through(cls, system: str, prompts: Sequence[int], points: Sequence[tuple[float, float]]) -> Fit:
        """Raises `ConfigError` for fewer than two numbers of rows."""
        rows, seconds = [x for x, _ in points], [y for _, y in points]
        if len(set(rows)) < 2:
            raise ConfigError("a line needs two prompts of different length, which this model's window lacks")
        slope, intercept = statistics.linear_regression(rows, seconds)
        r2 = statistics.correlation(rows, seconds) ** 2 if len(set(seconds)) > 1 else 1.0
        off = max(abs(intercept + slope * x - y) / y for x, y in points)
        return cls(system, tuple(prompts), tuple(points), slope, intercept, r2, off)


def scaling(model: LoadedModel, system: System, load: Load, prompts: Sequence[int] = PROMPTS) -> Fit:
    """Median seconds of a refresh of `system`, alone, against its live rows, for `prompts` in the window."""
    room = model.predictor.config.max_tokens - load.canvas
    fitting = [tokens for tokens in prompts if tokens <= room]
    return Fit.through(system.name, fitting, [_point(model, system, load, tokens) for tokens in fitting])


def _point(model: LoadedModel, system: System, load: Load, tokens: int) -> tuple[float, float]:
    """Live rows, and median seconds; prompts are words, whose lengths are exact."""
    workload = replace(load.workload, prompt=tokens)
    alone = replace(load, workload=workload, requests=REQUESTS, batch=1, rate=None, texts="words")
    with open_arms(model, [system], alone) as (asked, [arm]):
        for prompt in asked.prompts:
            arm.serve_alone(Request(prompt, load.options(system.cache)))
        seconds = percentile(alone_s(arm.alone.forwards, "refresh"), 50)
        return arm.alone.refresh_rows(load.canvas), seconds
