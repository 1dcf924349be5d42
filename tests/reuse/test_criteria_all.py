"""Every criterion: what it scores, against plain computations; budgets that follow the scores."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.encode import encode_affixes
from ragcache.decoding.step import run
from ragcache.errors import ConfigError
from ragcache.page import Page
from ragcache.reuse.budget import AdaptiveShare, Share
from ragcache.reuse.context import AnchorCriterion, ReuseContext
from ragcache.reuse.criteria import (
    CRITERIA,
    AttentionMass,
    FirstK,
    Influence,
    KeyDeviation,
    Oracle,
    QuestionAttention,
    Random,
    ValueDrift,
    criterion_named,
)
from ragcache.reuse.policy import ReusePolicy
from reference.fast_path import BACKENDS, Fast, backend_named
from reference.tiny import random_ids, tiny_model

A, B, QUESTION = random_ids(13, 1), random_ids(7, 2), random_ids(5, 4)
PARTS = [(False, random_ids(2, 6)), (True, B), (False, random_ids(3, 5)), (True, A), (False, QUESTION)]
PROMPT = [i for _, ids in PARTS for i in ids]
FROZEN = torch.tensor([*range(2, 9), *range(12, 25)])
MASKS = 6


def context_of(fast: Fast) -> ReuseContext:
    canvas = Canvas(PROMPT, MASKS, MASKS, fast.model.config.mask_id)
    segments = fast.segments(PARTS)
    kv = fast.backend(fast.model.config, canvas.tokens, segments, fast.model.dtype, fast.model.device)
    live = torch.tensor([p for p in range(canvas.tokens) if p not in FROZEN.tolist()])
    masked = torch.arange(len(PROMPT), canvas.tokens)
    return ReuseContext(canvas.token_ids, live, FROZEN, masked, kv, segments, fast.model)


def scores_of(criterion: AnchorCriterion, backend: str = "gather") -> Tensor:
    fast = Fast(tiny_model(), backend_named(backend))
    return run(fast.model, criterion.score(context_of(fast)))


def true_page(fast: Fast) -> Page:
    """K and V of prompt and masks computed together."""
    return encode_affixes(fast.model, [[*PROMPT, *[fast.model.config.mask_id] * MASKS]])[0]


def stale_columns(fast: Fast, layer: int) -> tuple[Tensor, Tensor]:
    pages = [encode_affixes(fast.model, [ids])[0] for ids in (B, A)]
    return (
        torch.cat([p.keys[layer] for p in pages], dim=1),
        torch.cat([p.values[layer] for p in pages], dim=1),
    )


@pytest.mark.parametrize("name", CRITERIA)
def test_backends_agree_and_no_score_is_missing(name: str) -> None:
    one, *others = (scores_of(criterion_named(name), backend) for backend in BACKENDS)
    assert one.shape == (len(FROZEN),)
    assert torch.isfinite(one).all()
    for other in others:
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_mass_and_influence_share_out_the_masks_attention() -> None:
    config = tiny_model().config
    heads = MASKS * config.heads * config.layers
    assert scores_of(Influence()).sum().item() == pytest.approx(heads, rel=1e-5)
    assert 0 < scores_of(AttentionMass()).sum().item() < heads  # the rest goes to live rows


def test_a_softmax_per_affix_gives_each_the_same_mass() -> None:
    each = scores_of(Influence(joint=False))
    assert each[: len(B)].sum().item() == pytest.approx(each[len(B) :].sum().item(), rel=1e-5)
    joint = scores_of(Influence())
    assert joint[: len(B)].sum().item() != pytest.approx(joint[len(B) :].sum().item(), rel=1e-2)


def test_question_attention_asks_the_live_tokens_after_the_last_affix() -> None:
    context = context_of(Fast(tiny_model()))
    assert context.question.tolist() == [*range(25, 30)]
    step = next(QuestionAttention().score(context))
    assert step.observer is not None
    assert context.live[step.observer.watched].tolist() == context.question.tolist()  # type: ignore[attr-defined]


def test_blend_is_the_squared_distance_of_layer_1_keys() -> None:
    fast = Fast(tiny_model())
    wanted = (true_page(fast).keys[1][:, FROZEN] - stale_columns(fast, 1)[0]).square().sum(dim=(0, 2))
    torch.testing.assert_close(scores_of(KeyDeviation()), wanted, atol=1e-4, rtol=1e-4)


def test_value_drift_is_one_minus_the_cosine_of_layer_1_values() -> None:
    fast = Fast(tiny_model())
    pair = (true_page(fast).values[1][:, FROZEN], stale_columns(fast, 1)[1])
    wanted = 1 - F.cosine_similarity(*(t.transpose(0, 1).flatten(1) for t in pair), dim=-1)
    torch.testing.assert_close(scores_of(ValueDrift()), wanted, atol=1e-5, rtol=1e-4)


def test_the_oracle_sums_the_drift_of_all_layers() -> None:
    fast = Fast(tiny_model())
    page, wanted = true_page(fast), torch.zeros(len(FROZEN))
    for layer in range(fast.model.config.layers):
        for true, stale in zip((page.keys, page.values), stale_columns(fast, layer), strict=True):
            pair = (true[layer][:, FROZEN].transpose(0, 1).flatten(1), stale.transpose(0, 1).flatten(1))
            wanted += (1 - F.cosine_similarity(*pair, dim=-1)).clamp_min(0)
    torch.testing.assert_close(scores_of(Oracle()), wanted, atol=1e-4, rtol=1e-4)


def test_a_check_computes_two_layers_only() -> None:
    step = next(KeyDeviation().score(context_of(Fast(tiny_model()))))
    assert step.cost(3) == pytest.approx((len(PROMPT) + MASKS) * 2 / 3)


def test_first_k_takes_the_start_of_every_affix() -> None:
    order = scores_of(FirstK()).sort(descending=True, stable=True).indices
    assert FROZEN[order[:6]].tolist() == [2, 12, 3, 13, 4, 14]


def test_chance_depends_on_seed_and_prompt_alone() -> None:
    assert torch.equal(scores_of(Random()), scores_of(Random()))
    assert not torch.equal(scores_of(Random()), scores_of(Random(seed=1)))


def test_a_criterion_nobody_knows() -> None:
    with pytest.raises(ConfigError, match="unknown criterion 'guess'; known: acache, acache-each, mass"):
        criterion_named("guess")


@pytest.mark.parametrize(
    ("mass", "scores", "count"),
    [
        (0.5, [5, 3, 1, 1], 1),
        (0.8, [5, 3, 1, 1], 2),
        (0.81, [1, 5, 1, 3], 3),
        (1.0, [5, 3, 1, 1], 4),
        (0.0, [5, 3, 1, 1], 1),
    ],
)
def test_adaptive_budgets_take_the_highest_until_they_hold_the_mass(
    mass: float, scores: list[float], count: int
) -> None:
    assert AdaptiveShare(mass, 0.0, 1.0).count(torch.tensor(scores, dtype=torch.float32)) == count


def test_adaptive_budgets_keep_their_bounds() -> None:
    scores = torch.tensor([1000.0] + [1.0] * 99)
    assert AdaptiveShare(0.5, 0.1, 0.3).count(scores) == 10
    assert AdaptiveShare(0.999, 0.1, 0.3).count(scores) == 30
    with pytest.raises(ConfigError, match=r"least 0\.5 is above most 0\.1"):
        AdaptiveShare(0.9, 0.5, 0.1)


def test_an_adaptive_budget_needs_shares() -> None:
    with pytest.raises(ConfigError, match="'first' gives none"):
        ReusePolicy(AdaptiveShare(), FirstK())
    assert ReusePolicy(AdaptiveShare(), AttentionMass()).name == "mass+adaptive@0.9"
    assert ReusePolicy(Share(0.3)).name == "qa@0.3"
