from __future__ import annotations

import pytest
import torch

from ragcache.decoding.commit import CommitRule, ConfidenceThreshold, EntropyBound, Factor, FixedSteps
from ragcache.errors import ConfigError


def count(rule: CommitRule, *confidence: float, step: int = 0, masks: int = 8) -> int:
    return rule.count(torch.tensor(confidence, dtype=torch.float64), step=step, masked_at_start=masks)


def test_threshold_takes_all_at_or_above_it_and_always_the_best() -> None:
    rule = ConfidenceThreshold(0.75)
    assert count(rule, 0.9, 0.75, 0.7499) == 2
    assert count(rule, 0.3, 0.2) == 1
    assert count(ConfidenceThreshold(0.0), 0.3, 0.2, 0.0) == 3


@pytest.mark.parametrize(
    ("masks", "steps", "wanted"),
    [(8, 4, [2, 2, 2, 2]), (8, 3, [3, 3, 2]), (7, 4, [2, 2, 2, 1]), (3, 5, [1, 1, 1]), (5, 1, [5])],
)
def test_fixed_steps_give_the_remainder_to_the_first(masks: int, steps: int, wanted: list[int]) -> None:
    counts = [count(FixedSteps(steps), 0.5, step=step, masks=masks) for step in range(len(wanted))]
    assert counts == wanted
    assert sum(counts) == masks


@pytest.mark.parametrize(
    ("confidence", "wanted"),
    [
        ((0.99, 0.9, 0.6), 2),  # 2 * 0.01, 3 * 0.1, but 4 * 0.4
        ((0.4, 0.3), 1),
        ((0.99, 0.98, 0.97), 3),
        ((0.99, 0.4, 0.99), 1),
    ],
)
def test_factor_takes_the_first_n_that_fit(confidence: tuple[float, ...], wanted: int) -> None:
    assert count(Factor(1.0), *confidence) == wanted


@pytest.mark.parametrize(
    ("entropies", "wanted"),
    [
        ((0.0625, 0.0625, 0.5, 0.5), 3),  # what stands before the third sums to 0.125, before the fourth not
        ((9.0, 9.0), 1),
        ((0.0, 0.0, 0.0), 3),
    ],
)
def test_an_entropy_bound_leaves_the_largest_out(entropies: tuple[float, ...], wanted: int) -> None:
    assert count(EntropyBound(0.125), *(-entropy for entropy in entropies)) == wanted
    with pytest.raises(ConfigError, match="entropy bound must be positive"):
        EntropyBound(0.0)


def test_a_larger_factor_commits_more() -> None:
    assert count(Factor(0.1), 0.99, 0.9, 0.6) == 1
    assert count(Factor(2.0), 0.99, 0.9, 0.6) == 3


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_threshold_must_be_a_probability(value: float) -> None:
    with pytest.raises(ConfigError, match="threshold"):
        ConfidenceThreshold(value)


def test_steps_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="steps per block must be at least 1, not 0"):
        FixedSteps(0)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_factor_must_be_positive(value: float) -> None:
    with pytest.raises(ConfigError, match="factor must be positive"):
        Factor(value)
