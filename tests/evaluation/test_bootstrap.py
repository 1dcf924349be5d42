"""Intervals against a slow and obvious computation, and against what they promise."""

from __future__ import annotations

import random
from statistics import fmean

import numpy as np
import pytest

from ragcache.errors import ConfigError, InputError
from ragcache.evaluation.bootstrap import Interval, interval, paired

SCORES = [0.0, 1.0, 1.0, 0.5, 0.25, 1.0, 0.0, 0.75, 1.0, 0.5, 0.0, 1.0]


def slow(scores: list[float], groups: list[str], resamples: int) -> Interval:
    """The same in plain Python, with other random numbers."""
    random_ = random.Random(1)
    members = [[s for s, g in zip(scores, groups, strict=True) if g == name] for name in sorted(set(groups))]
    means = sorted(
        fmean(score for group in random_.choices(members, k=len(members)) for score in group)
        for _ in range(resamples)
    )
    return Interval(fmean(scores), means[int(0.025 * resamples)], means[int(0.975 * resamples)])


def close(found: Interval, wanted: Interval) -> bool:
    return [found.mean, found.low, found.high] == pytest.approx(
        [wanted.mean, wanted.low, wanted.high], abs=0.03
    )


def test_single_scores_agree_with_the_slow_way() -> None:
    alone = [str(number) for number in range(len(SCORES))]
    assert close(interval(SCORES, resamples=4000), slow(SCORES, alone, 4000))


def test_groups_agree_with_the_slow_way() -> None:
    groups = list("aaaabbccccdd")
    assert close(interval(SCORES, groups=groups, resamples=4000), slow(SCORES, groups, 4000))


def test_groups_of_one_are_single_scores() -> None:
    assert interval(SCORES, groups=range(len(SCORES))) == interval(SCORES)


def test_copies_of_an_example_tell_nothing_new() -> None:
    groups = [number for number in range(len(SCORES)) for _ in range(4)]
    copies = [score for score in SCORES for _ in range(4)]
    assert interval(copies, groups=groups) == interval(SCORES)
    naive = interval(copies)
    assert naive.high - naive.low < 0.7 * (interval(SCORES).high - interval(SCORES).low)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(5)
    hits = 0
    for _ in range(200):
        found = interval((generator.random(60) < 0.7).astype(float), level=0.9, resamples=300)  # type: ignore[arg-type]
        hits += found.low <= 0.7 <= found.high
    assert 0.83 <= hits / 200 <= 0.96


def test_a_higher_level_is_wider_and_more_scores_are_narrower() -> None:
    def width(found: Interval) -> float:
        return found.high - found.low

    assert width(interval(SCORES, level=0.5)) < width(interval(SCORES, level=0.99))
    assert width(interval(SCORES * 9)) < 0.5 * width(interval(SCORES))


def test_the_same_seed_gives_the_same_bounds() -> None:
    assert interval(SCORES, resamples=50) == interval(SCORES, resamples=50)
    assert interval(SCORES, resamples=50) != interval(SCORES, resamples=50, seed=1)


def test_the_draws_held_at_once_do_not_matter_much(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = interval(SCORES)
    monkeypatch.setattr("ragcache.evaluation.bootstrap._DRAWS", 7)
    assert interval(SCORES) == whole


@pytest.mark.parametrize("scores", [[1.0], [1.0, 1.0, 1.0]])
def test_equal_scores_have_no_width(scores: list[float]) -> None:
    assert interval(scores) == Interval(1.0, 1.0, 1.0)


def test_pairs_cancel_what_examples_share() -> None:
    baseline = [score - 0.1 for score in SCORES]
    found = paired(SCORES, baseline)
    assert [found.mean, found.low, found.high] == pytest.approx([0.1, 0.1, 0.1])


def test_pairs_are_differences() -> None:
    other = SCORES[::-1]
    differences = [one - two for one, two in zip(SCORES, other, strict=True)]
    assert paired(SCORES, other, level=0.8, seed=3) == interval(differences, level=0.8, seed=3)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="no scores"):
        interval([])
    with pytest.raises(InputError, match="no scores"):
        paired([], [])
    with pytest.raises(InputError, match="2 scores against 1"):
        paired([1.0, 0.0], [1.0])
    with pytest.raises(InputError, match="1 groups for 2 scores"):
        interval([1.0, 0.0], groups=["a"])
    with pytest.raises(InputError, match="finite"):
        interval([1.0, float("nan")])
    with pytest.raises(ConfigError, match="level 95"):
        interval([1.0], level=95)
    with pytest.raises(ConfigError, match="resamples 0"):
        interval([1.0], resamples=0)
