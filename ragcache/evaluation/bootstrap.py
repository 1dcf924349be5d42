"""How sure a mean is: percentile bootstrap intervals (Efron and Tibshirani, 1993) over examples.

The interval of scores that are all equal has no width: resampling cannot show what was never seen. Read it
together with the number of examples.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragcache.errors import ConfigError, InputError

# Draws held at once; bounds memory (16 MiB of indices) whatever the number of examples.
_DRAWS = 2**21

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A mean and the bounds that hold it with the level asked for, all in the unit of the scores."""

    mean: float
    low: float
    high: float


def interval(
    scores: Sequence[float],
    *,
    groups: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The mean of `scores` and its interval at `level`; the same input gives the same bounds.

    `groups` names the group of each score, e.g. the example that several scores are variants of: whole groups
    are then drawn, since members of one are not independent. Raises `InputError` for no scores, scores that
    are not finite and groups of another length, `ConfigError` for `level` or `resamples` out of range.
    """
    _check(scores, groups, level, resamples)
    values = np.asarray(scores, dtype=np.float64)
    sums, sizes = _totals(values, groups)
    means = _resampled_means(sums, sizes, resamples, np.random.default_rng(seed))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(values.mean()), float(low), float(high))


def paired(
    ours: Sequence[float],
    baseline: Sequence[float],
    *,
    groups: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The mean of `ours[i] - baseline[i]`, two scores of the same example, and its interval.

    Raises `InputError` when the lengths differ, and as `interval` does.
    """
    if len(ours) != len(baseline):
        raise InputError(
            f"{len(ours)} scores against {len(baseline)} of the baseline; give both for the same examples"
        )
    differences = [one - other for one, other in zip(ours, baseline, strict=True)]
    return interval(differences, groups=groups, level=level, resamples=resamples, seed=seed)


def _check(scores: Sequence[float], groups: Sequence[Hashable] | None, level: float, resamples: int) -> None:
    if not len(scores):
        raise InputError("no scores to take the mean of; give at least one")
    if not np.isfinite(scores).all():
        raise InputError("scores must be finite numbers; leave out the examples that have none")
    if groups is not None and len(groups) != len(scores):
        raise InputError(f"{len(groups)} groups for {len(scores)} scores; name the group of each score")
    if not 0.0 < level < 1.0:
        raise ConfigError(f"level {level} must lie between 0 and 1; use 0.95")
    if resamples < 1:
        raise ConfigError(f"resamples {resamples} must be at least 1; use 2000")


def _totals(values: Floats, groups: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """Sum and size of every group, in order of first appearance; without groups each score is its own."""
    if groups is None:
        return values, np.ones_like(values)
    numbers: dict[Hashable, int] = {}
    members = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
    sums, sizes = np.bincount(members, values), np.bincount(members)
    return sums.astype(np.float64), sizes.astype(np.float64)


def _resampled_means(sums: Floats, sizes: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """Means `[resamples]` over as many groups as there are, drawn with replacement."""
    count = len(sums)
    at_once = max(1, _DRAWS // count)
    means = []
    for start in range(0, resamples, at_once):
        drawn = generator.integers(count, size=(min(at_once, resamples - start), count))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return np.concatenate(means)
