"""Rows from answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcache.errors import InputError
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.bootstrap import interval, paired
from ragcache.evaluation.summary import Difference, against, summarise

ANSWER = Answer(
    "single",
    "full",
    "",
    0,
    "Who?",
    "Ines",
    "Ines.",
    (1, 2),
    1.0,
    1.0,
    None,
    None,
    0.5,
    4,
    90,
    0.0,
    0.1,
    0.5,
    10,
)


def scored(policy: str, *ems: float, groups: str = "", dataset: str = "single") -> list[Answer]:
    """One answer an `em`; `groups` holds a letter for each."""
    return [
        replace(ANSWER, policy=policy, dataset=dataset, index=i, em=em, group=groups[i : i + 1])
        for i, em in enumerate(ems)
    ]


def test_rows_stand_in_order_of_first_appearance() -> None:
    answers = [*scored("full", 1), *scored("direct", 0), *scored("full", 1, dataset="two_hop")]
    answers += [replace(ANSWER, index=1), replace(ANSWER, placement="infix")]
    assert [(row.dataset, row.policy, row.placement, row.n) for row in summarise(answers)] == [
        ("single", "full", "", 2),
        ("single", "direct", "", 1),
        ("two_hop", "full", "", 1),
        ("single", "full", "infix", 1),
    ]


def test_means_and_medians() -> None:
    [row] = summarise(
        [
            replace(ANSWER, index=0, refresh_s=1.0, total_s=2.0, f1=0.5, kl=0.2, agreement=0.5),
            replace(
                ANSWER, index=1, refresh_s=9.0, total_s=3.0, em=0.0, kl=0.4, agreement=1.0, live_rows=0.0
            ),
            replace(ANSWER, index=2, refresh_s=2.0, total_s=9.0, forwards=1, rows_computed=0, bytes_read=40),
        ]
    )
    assert (row.refresh_s, row.total_s) == (2.0, 3.0)
    means = (row.em, row.f1, row.live_rows, row.forwards, row.rows_computed, row.bytes_read)
    assert means == pytest.approx((2 / 3, 2.5 / 3, 1 / 3, 3, 60, 20))
    assert (row.agreement, row.kl) == pytest.approx((0.75, 0.3))  # of the two that have one


def test_bounds_are_those_of_the_bootstrap() -> None:
    ems = (1.0, 0.0, 1.0, 1.0, 0.0, 0.0)
    [row] = summarise(scored("full", *ems, groups="aabbcc"), resamples=200, seed=4)
    wanted = interval(ems, groups="aabbcc", resamples=200, seed=4)
    assert (row.em, row.em_low, row.em_high) == (wanted.mean, wanted.low, wanted.high)
    [row] = summarise(scored("full", *ems), resamples=200, seed=4)
    wanted = interval(ems, resamples=200, seed=4)
    assert (row.em_low, row.em_high) == (wanted.low, wanted.high)


def test_without_full_there_is_nothing_to_agree_with() -> None:
    [row] = summarise(scored("direct", 1, 0))
    assert (row.agreement, row.agreement_low, row.agreement_high, row.kl) == (None,) * 4


def test_a_group_is_consistent_when_all_its_answers_are_right() -> None:
    [row] = summarise(scored("full", 1, 1, 1, 0, 0, 0, groups="aabbcc"))
    assert row.consistent == pytest.approx(1 / 3)
    [row] = summarise(scored("full", 1, 1, 0, groups="aa"))
    assert row.consistent == 1.0  # the third stands alone
    [row] = summarise(scored("full", 1, 1))
    assert row.consistent is None


def test_differences_are_paired_by_example() -> None:
    ours, full = (1.0, 0.0, 0.0, 1.0), (1.0, 1.0, 0.0, 1.0)
    answers = [*scored("acache@0.2", *ours)[::-1], *scored("full", *full, 1.0)]
    gap = paired(ours[::-1], full[::-1])
    assert against(answers) == [Difference("single", "acache@0.2", "", "full", 4, -0.25, gap.low, gap.high)]


def test_any_policy_may_be_the_baseline() -> None:
    answers = [*scored("full", 1, 1), *scored("direct", 0, 1), *scored("full", 0, dataset="two_hop")]
    answers += scored("direct", 0, dataset="two_hop")
    assert [(d.dataset, d.policy, d.em) for d in against(answers, "direct")] == [
        ("single", "full", 0.5),
        ("two_hop", "full", 0.0),
    ]


@pytest.mark.parametrize("full", [(), (1.0,)])
def test_an_answer_without_its_baseline_is_named(full: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match=f"single: 'full' has no answer to example {len(full)}"):
        against([*scored("direct", 1, 1), *scored("full", *full)])


def test_codecs_have_rows_of_their_own() -> None:
    answers = [*scored("direct", 1, 1), *(replace(a, codec="int4") for a in scored("direct", 0, 1))]
    assert [(row.codec, row.em) for row in summarise(answers)] == [("raw", 1.0), ("int4", 0.5)]


def test_a_codec_is_compared_with_its_own_baseline_or_with_raw() -> None:
    full = scored("full", 1, 1)
    small = [replace(a, codec="int4") for a in (*scored("acache@0.2", 0, 1), *scored("direct", 0, 0))]
    assert [(d.policy, d.codec, d.em) for d in against([*full, *small])] == [
        ("acache@0.2", "int4", -0.5),
        ("direct", "int4", -1.0),
    ]
    raw = scored("direct", 1, 1)
    gaps = {(d.policy, d.codec): d.em for d in against([*full, *raw, *small], "direct")}
    assert gaps == {("full", "raw"): 0.0, ("acache@0.2", "int4"): 0.5}
