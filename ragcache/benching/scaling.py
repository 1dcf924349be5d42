"""Whether the cost of a refresh grows in a line with its live rows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcache.benching.figures import percentile
from ragcache.benching.load import Load
from ragcache.benching.measure import measure
from ragcache.benching.systems import System
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError

PROMPTS = (512, 1024, 2048, 4096, 8192)  # tokens
REQUESTS = 5  # of each length, one at a time


@dataclass(frozen=True)
class Fit:
    """The line `intercept_s + slope_s * rows` through `points` (live rows, seconds), by least squares."""

    system: str
    points: tuple[tuple[float, float], ...]
    slope_s: float
    intercept_s: float
    r2: float

    @classmethod
    def through(cls, system: str, points: Sequence[tuple[float, float]]) -> Fit:
        """Raises `ConfigError` for fewer than two numbers of rows."""
        rows, seconds = [x for x, _ in points], [y for _, y in points]
        if len(set(rows)) < 2:
            raise ConfigError("a line needs two prompts of different length, which this model's window lacks")
        slope, intercept = statistics.linear_regression(rows, seconds)
        r2 = statistics.correlation(rows, seconds) ** 2 if len(set(seconds)) > 1 else 1.0
        return cls(system, tuple(points), slope, intercept, r2)


def scaling(model: LoadedModel, system: System, load: Load, prompts: Sequence[int] = PROMPTS) -> Fit:
    """Median refresh time of `system` against its live rows, for `prompts` that fit the window."""
    room = model.predictor.config.max_tokens - load.canvas
    points = []
    for tokens in prompts:
        if tokens <= room:
            workload = replace(load.workload, prompt=tokens)
            alone = replace(load, workload=workload, requests=REQUESTS, batch=1, rate=None)
            [measured] = measure(model, [system], alone)
            points.append((measured.refresh_rows, percentile(measured.refresh_s, 50)))
    return Fit.through(system.name, points)
