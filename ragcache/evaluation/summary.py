"""Rows of a results table from answers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median

from ragcache.errors import InputError
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.bootstrap import interval, paired

Cell = tuple[str, str, str, str]


@dataclass(frozen=True)
class Row:
    """The `n` answers to one data set under one policy, placement and codec.

    Means, with 95 % intervals where there are `_low` and `_high`; seconds are medians.
    `agreement` and `kl` are over the answers that have one, None without any. `consistent` is the share of
    groups whose answers are all exact matches, None without groups. Units are those of `Answer`.
    """

    dataset: str
    policy: str
    placement: str
    n: int
    em: float
    em_low: float
    em_high: float
    f1: float
    f1_low: float
    f1_high: float
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    kl: float | None
    live_rows: float
    forwards: float
    rows_computed: float
    probe_s: float
    refresh_s: float
    total_s: float
    bytes_read: float
    consistent: float | None
    codec: str = "raw"


@dataclass(frozen=True)
class Difference:
    """How much `em` exceeds that of `baseline` on the same `n` examples: the mean and its interval."""

    dataset: str
    policy: str
    placement: str
    baseline: str
    n: int
    em: float
    em_low: float
    em_high: float
    codec: str = "raw"


def summarise(answers: Iterable[Answer], *, resamples: int = 2000, seed: int = 0) -> list[Row]:
    """One row for every dataset, policy, placement and codec, in order of first appearance."""
    return [_row(cell, members, resamples, seed) for cell, members in _cells(answers).items()]


def against(
    answers: Iterable[Answer],
    baseline: str = "full",
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[Difference]:
    """One difference for every row whose policy is not `baseline`, example by example; intervals of `level`.

    The baseline's answers are those with the same codec, or else those with `raw`. Raises `InputError` when
    the baseline did not answer an example that the policy answered.
    """
    cells = _cells(answers)
    found = []
    for (dataset, policy, placement, codec), ours in cells.items():
        if policy == baseline:
            continue
        base = cells.get((dataset, baseline, placement, codec)) or cells.get(
            (dataset, baseline, placement, "raw"), []
        )
        known = {answer.index: answer.em for answer in base}
        missing = [answer.index for answer in ours if answer.index not in known]
        if missing:
            raise InputError(
                f"{dataset}: {baseline!r} has no answer to example {missing[0]} ({len(missing)} missing) to "
                f"compare {policy!r} with; add {baseline!r} to the policies"
            )
        scores, others = [a.em for a in ours], [known[a.index] for a in ours]
        gap = paired(scores, others, groups=_groups(ours), level=level, resamples=resamples, seed=seed)
        found.append(
            Difference(dataset, policy, placement, baseline, len(ours), gap.mean, gap.low, gap.high, codec)
        )
    return found


def _cells(answers: Iterable[Answer]) -> dict[Cell, list[Answer]]:
    cells: dict[Cell, list[Answer]] = {}
    for answer in answers:
        cell = (answer.dataset, answer.policy, answer.placement, answer.codec)
        cells.setdefault(cell, []).append(answer)
    return cells


def _groups(answers: Sequence[Answer]) -> list[Hashable]:
    """What is drawn together: variants of one example; an index never equals the name of a group."""
    return [answer.group or answer.index for answer in answers]


def _row(cell: Cell, answers: Sequence[Answer], resamples: int, seed: int) -> Row:
    bounds = partial(interval, resamples=resamples, seed=seed)
    groups = _groups(answers)
    em = bounds([a.em for a in answers], groups=groups)
    f1 = bounds([a.f1 for a in answers], groups=groups)
    agreed = [
        (a.agreement, group) for a, group in zip(answers, groups, strict=True) if a.agreement is not None
    ]
    agreement = (
        bounds([share for share, _ in agreed], groups=[group for _, group in agreed]) if agreed else None
    )
    diverged = [a.kl for a in answers if a.kl is not None]
    dataset, policy, placement, codec = cell
    return Row(
        dataset,
        policy,
        placement,
        codec=codec,
        n=len(answers),
        em=em.mean,
        em_low=em.low,
        em_high=em.high,
        f1=f1.mean,
        f1_low=f1.low,
        f1_high=f1.high,
        agreement=agreement.mean if agreement else None,
        agreement_low=agreement.low if agreement else None,
        agreement_high=agreement.high if agreement else None,
        kl=fmean(diverged) if diverged else None,
        live_rows=fmean(a.live_rows for a in answers),
        forwards=fmean(a.forwards for a in answers),
        rows_computed=fmean(a.rows_computed for a in answers),
        probe_s=median(a.probe_s for a in answers),
        refresh_s=median(a.refresh_s for a in answers),
        total_s=median(a.total_s for a in answers),
        bytes_read=fmean(a.bytes_read for a in answers),
        consistent=_consistent(answers),
    )


def _consistent(answers: Iterable[Answer]) -> float | None:
    exact: dict[str, bool] = {}
    for answer in answers:
        if answer.group:
            exact[answer.group] = exact.get(answer.group, True) and answer.em == 1.0
    return fmean(exact.values()) if exact else None
