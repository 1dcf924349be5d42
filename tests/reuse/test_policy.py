from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.step import Work, run
from ragcache.errors import ConfigError
from ragcache.reuse.budget import Share
from ragcache.reuse.context import ReuseContext
from ragcache.reuse.plan import Plan, make_plan
from ragcache.reuse.policy import (
    Anchors,
    Depth,
    Direct,
    Full,
    ReusePolicy,
    parse_policies,
    parse_policy,
)
from reference.fast_path import Fast
from reference.tiny import random_ids, tiny_model

PARTS = [
    (False, random_ids(3, 1)),
    (True, random_ids(6, 2)),
    (False, random_ids(2, 3)),
    (True, random_ids(4, 4)),
]


@dataclass(frozen=True)
class Constant:
    """Scores every affix token the same, and notes what it was shown."""

    shown: list[ReuseContext]
    name: str = "constant"

    def score(self, context: ReuseContext) -> Work[Tensor]:
        self.shown.append(context)
        return torch.ones(len(context.frozen))
        yield  # a generator that asks for no forward


def plan_of(policy: ReusePolicy) -> Plan:
    fast = Fast(tiny_model())
    canvas = Canvas([i for _, ids in PARTS for i in ids], 4, 4, fast.model.config.mask_id)
    return run(fast.model, make_plan(fast.model, canvas, fast.segments(PARTS), policy, fast.backend))


@pytest.mark.parametrize(
    ("budget", "tokens", "anchors"),
    [
        (0.1, 30, 3),
        (0.07, 100, 7),
        (0.2, 48, 10),
        (0.2, 1, 1),
        (1e-6, 500, 1),
        (0.0, 9, 0),
        (1.0, 9, 9),
        (0.3, 0, 0),
    ],
)
def test_anchors_are_rounded_up_but_not_by_float_dust(budget: float, tokens: int, anchors: int) -> None:
    assert Share(budget).of(tokens) == anchors


@pytest.mark.parametrize("budget", [-0.01, 1.01, float("nan")])
def test_budget_outside_its_range(budget: float) -> None:
    with pytest.raises(ConfigError, match=r"outside 0\.\.1"):
        ReusePolicy(budget)


FURTHER = [{"refresh_every": None}, {"refresh_every": 2}, {"contextual": True}, {"min_tokens": 8}]


@pytest.mark.parametrize(
    "policy",
    [
        *(Full, Direct, Anchors(), Anchors(0.35)),
        *(replace(policy, **one) for policy in (Full, Direct, Anchors(0.35)) for one in FURTHER),
        replace(Full, depth=Depth(2), refresh_every=None),
    ],
)
def test_names_parse_back(policy: ReusePolicy) -> None:
    assert parse_policy(policy.name) == policy


def test_names() -> None:
    assert [p.name for p in (Full, Direct, Anchors(0.25))] == ["full", "direct", "qa@0.25"]
    assert parse_policy("qa") == Anchors()
    assert [p.reuses for p in (Full, Direct, Anchors(0.25))] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("half", "unknown policy 'half'; known: full, direct, auto, depth"),
        ("acache@much", "policy 'acache@much': not a number .*'much'.*for example qa@0.2"),
        ("acache@", "policy 'acache@': not a number"),
        ("direct@0.5", "unknown policy 'direct@0.5'"),
        ("acache@0.2+mass@0.3", "gives budget and criterion twice"),
        ("acache@0.2+direct", "gives budget and criterion twice"),
        ("acache@0.2+adaptive@0.9", "gives budget twice"),
        ("depth=2+depth=3+direct", "gives depth twice"),
        ("direct+once+every=3", "gives refresh twice"),
        ("full+once", "unknown policy 'full\\+once'"),
        ("acache@1.5", r"outside 0\.\.1"),
        ("acache@nan", r"outside 0\.\.1"),
        ("", "unknown policy ''"),
        ("depth=x", "policy 'depth=x'"),
        ("depth=-1", "negative"),
        ("acache@0.2+every=0", "at least 1 block"),
        ("once", "does not say what to recompute"),
        ("contextual=3", "unknown policy"),
        ("first+adaptive@0.9", "gives none"),
    ],
)
def test_policies_that_cannot_be_parsed(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_policy(text)


FORMS = [
    "full",
    "direct",
    "auto",
    "depth",
    "depth=4",
    "depth+acache@0.2",
    "depth=2+direct",
    "adaptive@0.9",
    "adaptive@0.8:0.1-0.4",
    "mass+adaptive@0.7",
    "blend@0.15",
    "acache-each@0.2",
    "acache@0.2+once",
    "first@0.1+every=3",
    "acache@0.2+contextual+min=16",
]


@pytest.mark.parametrize("text", FORMS)
def test_short_forms_are_canonical(text: str) -> None:
    assert parse_policy(text).name == text


def test_parts_may_stand_in_any_order() -> None:
    assert parse_policy("adaptive@0.7+mass") == parse_policy("mass+adaptive@0.7")
    assert parse_policy("min=16+contextual+acache@0.2") == parse_policy("acache@0.2+contextual+min=16")
    assert parse_policy("adaptive") == parse_policy("adaptive@0.9")


def test_equal_policies_of_a_list_count_once() -> None:
    names = [policy.name for policy in parse_policies("direct, acache@0.2,acache,full,mass@1,direct")]
    assert names == ["direct", "acache@0.2", "full"]


def test_depth_alone_recomputes_all_from_there_on() -> None:
    assert parse_policy("depth") == ReusePolicy(1.0, depth=Depth())
    assert parse_policy("depth").reuses


def test_refresh_of_the_first_block_only_or_of_every_third() -> None:
    once, third = (plan_of(parse_policy(f"acache@0.5+{word}")) for word in ("once", "every=3"))
    assert [len(once.at_block(n).positions) for n in range(4)] == [14, 9, 9, 9]
    assert [len(third.at_block(n).positions) for n in range(4)] == [14, 9, 9, 14]


def test_direct_keeps_all_affix_tokens_frozen() -> None:
    plan = plan_of(Direct)
    assert plan.anchors.tolist() == []
    assert plan.live.tolist() == [0, 1, 2, 9, 10, 15, 16, 17, 18]


def test_full_recomputes_everything() -> None:
    plan = plan_of(Full)
    assert plan.anchors.tolist() == [*range(3, 9), *range(11, 15)]
    assert plan.live.tolist() == list(range(19))


def test_equal_scores_go_to_the_lower_position_and_the_criterion_sees_the_request() -> None:
    criterion = Constant([])
    plan = plan_of(ReusePolicy(0.7, criterion))
    assert plan.anchors.tolist() == [*range(3, 9), 11]
    assert plan.live.tolist() == [*range(12), *range(15, 19)]
    (context,) = criterion.shown
    assert context.frozen.tolist() == [*range(3, 9), *range(11, 15)]
    assert context.live.tolist() == [0, 1, 2, 9, 10, 15, 16, 17, 18]
    assert context.masked.tolist() == [15, 16, 17, 18]
    assert ReusePolicy(0.7, criterion).name == "constant@0.7"


@pytest.mark.parametrize("budget", [0.0, 0.99, 1.0])
def test_no_scores_are_asked_for_when_they_cannot_matter(budget: float) -> None:
    criterion = Constant([])
    plan_of(ReusePolicy(budget, criterion))
    assert criterion.shown == []
