"""Which policy is chosen, from answers made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ragcache.errors import ConfigError, InputError
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.tune import FEWEST, candidates, tune
from ragcache.reuse.policy import parse_policy

BASE = Answer(
    "mine", "full", "prefix", 0, "Who?", "x", "x", (1,), 1.0, 1.0, None, None, 1.0, 2, 9, 0.0, 0.1, 0.2, 0
)  # fmt: skip


def answers(policy: str, refresh_s: float, right: Sequence[bool], probe_s: float = 0.0) -> list[Answer]:
    return [
        replace(BASE, policy=policy, index=index, em=float(ok), probe_s=probe_s, refresh_s=refresh_s)
        for index, ok in enumerate(right)
    ]


RIGHT = [number % 5 > 0 for number in range(200)]
FULL = answers("full", 0.100, RIGHT)


def test_the_cheapest_of_the_safe_ones_is_chosen() -> None:
    good, dear = answers("acache@0.2", 0.03, RIGHT), answers("acache@0.5", 0.06, RIGHT)
    bad = answers("direct", 0.01, [ok and number > 40 for number, ok in enumerate(RIGHT)])
    tuning = tune([*FULL, *dear, *bad, *good])
    assert (tuning.chosen, tuning.found) == ("acache@0.2", True)
    assert [c.row.policy for c in tuning.candidates] == ["direct", "acache@0.2", "acache@0.5", "full"]
    assert [c.safe for c in tuning.candidates] == [False, True, True, True]
    assert tuning.of("acache@0.2").cost == pytest.approx(0.3)


def test_a_loss_that_may_be_chance_is_not_safe_either() -> None:
    # 3 of 200 lost: 1.5 points, and the interval reaches below the tolerance of 2
    few = answers("direct", 0.01, [ok and number not in (1, 2, 3) for number, ok in enumerate(RIGHT)])
    assert tune([*FULL, *few], tolerance=0.02, confidence=0.95).chosen == "full"
    assert tune([*FULL, *few], tolerance=0.05).chosen == "direct"


def test_how_sure_is_asked_for() -> None:
    # 4 gained and 2 lost of 100: one in five resamples does not reach -1 point, one in twenty falls below it
    right = [number > 5 for number in range(100)]
    mixed = [number not in (4, 5, 6, 7) if number < 8 else True for number in range(100)]
    both = [*answers("full", 0.1, right), *answers("direct", 0.01, mixed)]
    loose, strict = (tune(both, confidence=share) for share in (0.8, 0.99))
    assert (loose.chosen, strict.chosen) == ("direct", "full")
    assert strict.of("direct").at_least < -0.01 <= loose.of("direct").at_least


def test_nothing_safe_keeps_full_recompute_and_says_so() -> None:
    tuning = tune([*FULL, *answers("direct", 0.01, [False] * 200)])
    assert (tuning.chosen, tuning.found) == ("full", False)


def test_a_safe_policy_that_saves_nothing_is_not_chosen() -> None:
    assert tune([*FULL, *answers("oracle@0.2", 0.15, RIGHT)]).chosen == "full"
    [dear, _] = (tuning := tune([*FULL, *answers("acache@0.2", 0.04, RIGHT, probe_s=0.07)])).candidates[::-1]
    assert (tuning.chosen, dear.cost, dear.refresh) == ("full", pytest.approx(1.1), pytest.approx(0.4))


def test_better_than_full_is_safe() -> None:
    assert tune([*FULL, *answers("direct", 0.01, [True] * 200)]).chosen == "direct"


def test_too_few_questions_make_nothing_safe() -> None:
    few, enough = (
        tune([*answers("full", 0.1, [True] * n), *answers("direct", 0.01, [True] * n)])
        for n in (FEWEST - 1, FEWEST)
    )
    assert (few.chosen, enough.chosen) == ("full", "direct")


def test_where_full_recompute_is_always_wrong_nothing_is_safe() -> None:
    wrong = [False] * FEWEST
    assert tune([*answers("full", 0.1, wrong), *answers("direct", 0.01, wrong)]).chosen == "full"


def test_bad_input() -> None:
    with pytest.raises(InputError, match="evaluate policy 'full' too"):
        tune(answers("direct", 0.01, RIGHT))
    with pytest.raises(ConfigError, match=r"tolerance 1\.5 lies outside"):
        tune(FULL, 1.5)
    with pytest.raises(ConfigError, match=r"confidence 0\.5 lies outside"):
        tune(FULL, confidence=0.5)


@pytest.mark.parametrize("layers", [1, 8, 32])
def test_the_grid_can_be_parsed_and_fits_the_model(layers: int) -> None:
    policies = [parse_policy(text) for text in candidates(layers)]
    assert len({policy.name for policy in policies}) == len(policies)
    assert all(p.depth is None or (p.depth.layers or 0) <= layers for p in policies)
