"""The cheapest policy that is as accurate as full recompute, as far as the user's own questions can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragcache.errors import ConfigError, InputError
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.summary import Difference, Row, against, summarise
from ragcache.reuse.criteria import DEFAULT

FULL = "full"
FEWEST = 20  # questions; a bootstrap of fewer says that what never failed never will


@dataclass(frozen=True)
class Candidate:
    """One policy: its row, how much its exact match differs from full's, and whether that is safe.

    `at_least` is what the difference reaches with the confidence asked for.
    Times are shares of full's refresh: `cost` counts the probe and all refreshes, `refresh` the latter alone.
    """

    row: Row
    difference: Difference
    at_least: float
    cost: float
    refresh: float
    safe: bool


@dataclass(frozen=True)
class Tuning:
    """All candidates, cheapest first, and the chosen policy: `full` when none is safe."""

    candidates: tuple[Candidate, ...]
    chosen: str
    tolerance: float
    confidence: float

    @property
    def found(self) -> bool:
        """Whether a policy other than full recompute is safe."""
        return self.chosen != FULL

    def of(self, policy: str) -> Candidate:
        """The candidate called `policy`."""
        return next(c for c in self.candidates if c.row.policy == policy)


def candidates(layers: int) -> list[str]:
    """Policies worth trying on a model of `layers`, besides full recompute."""
    shares = [f"{name}@{share}" for name in (DEFAULT.name, "acache") for share in (0.05, 0.1, 0.2, 0.3, 0.5)]
    depths = sorted({max(1, layers // 4), max(1, layers // 2)})
    return [
        "direct",
        *shares,
        "adaptive@0.9",
        *(f"depth={depth}" for depth in depths),
        *(f"depth={depth}+{DEFAULT.name}@0.2" for depth in depths),
    ]


def check_strictness(tolerance: float, confidence: float) -> None:
    """Raise `ConfigError` for anything but a share, and for a confidence that is none."""
    if not 0.5 < confidence < 1.0:
        raise ConfigError(f"confidence {confidence} lies outside 0.5..1; use 0.8, or 0.95 to be stricter")
    if not 0.0 <= tolerance < 1.0:
        raise ConfigError(f"tolerance {tolerance} lies outside 0..1; use 0.01 for one point")


def tune(answers: Sequence[Answer], tolerance: float = 0.01, confidence: float = 0.8) -> Tuning:
    """Choose among the policies of `answers`, all to the same questions and `full` among them.

    A policy is safe when its exact match is not more than `tolerance` (a share) below full's in the share
    `confidence` of the resamples of a paired bootstrap, and there were `FEWEST` questions at least, some of
    which full recompute answers. 0.95 with a tolerance of a point takes thousands of questions to reach.
    Raises `InputError` without answers of full recompute.
    """
    check_strictness(tolerance, confidence)
    rows = {row.policy: row for row in summarise(answers)}
    if FULL not in rows:
        raise InputError("tuning compares with full recompute; evaluate policy 'full' too")
    full, full_s = rows[FULL], rows[FULL].refresh_s
    telling = full.n >= FEWEST and full.em > 0.0  # who is always wrong loses nothing by any policy
    none = Difference(full.dataset, FULL, full.placement, FULL, full.n, 0.0, 0.0, 0.0)
    found = [Candidate(full, none, 0.0, 1.0, 1.0, True)]
    one_sided = against(answers, FULL, level=2 * confidence - 1)
    for difference, bound in zip(against(answers, FULL), one_sided, strict=True):
        row = rows[difference.policy]
        refresh = row.refresh_s / full_s if full_s else 1.0
        probe = row.probe_s / full_s if full_s else 0.0
        safe = telling and bound.em_low >= -tolerance
        found.append(Candidate(row, difference, bound.em_low, probe + refresh, refresh, safe))
    ordered = tuple(sorted(found, key=lambda candidate: candidate.cost))
    return Tuning(ordered, next(c.row.policy for c in ordered if c.safe), tolerance, confidence)
