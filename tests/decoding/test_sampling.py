from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ragcache.decoding.sampling import CONFIDENCES, confidence_named, propose
from ragcache.errors import ConfigError

MASK = 3


def proposed(logits: Tensor, temperature: float = 0.0, seed: int = 0, **more: Any) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return propose(logits, mask_id=MASK, temperature=temperature, generator=generator, **more)


def test_the_best_token_with_its_fp64_probability() -> None:
    tokens, confidence = proposed(torch.tensor([[0.0, 2.0, 1.0, -1.0]]))
    assert tokens.tolist() == [1]
    assert confidence.dtype == torch.float64
    total = sum(math.exp(x) for x in (0.0, 2.0, 1.0, -1.0))
    assert confidence.item() == pytest.approx(math.exp(2.0) / total, rel=1e-12)


@pytest.mark.parametrize("temperature", [0.0, 1.0, 50.0])
def test_the_mask_is_never_proposed(temperature: float) -> None:
    logits = torch.tensor([[0.0, 1.0, 0.5, 9.0]]).repeat(200, 1)
    tokens, confidence = proposed(logits, temperature)
    assert MASK not in tokens.tolist()
    assert confidence.max() < 0.01  # the mask stays in the softmax: probabilities are the model's own


def test_token_ties_go_to_the_lower_id() -> None:
    assert proposed(torch.tensor([[1.0, 5.0, 5.0, 0.0]]))[0].tolist() == [1]


def test_a_seed_repeats_and_another_differs() -> None:
    logits = torch.zeros(40, 12)
    one, again, other = (proposed(logits, 1.0, seed)[0] for seed in (7, 7, 8))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_temperature_zero_ignores_the_seed() -> None:
    logits = torch.randn(5, 12, generator=torch.Generator().manual_seed(0))
    assert torch.equal(proposed(logits, seed=1)[0], proposed(logits, seed=2)[0])


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_gumbel_max_draws_from_the_tempered_softmax(temperature: float) -> None:
    row = torch.tensor([0.0, 1.0, 0.5, -20.0])
    tokens, confidence = proposed(row.repeat(20_000, 1), temperature)
    shares = tokens.bincount(minlength=4) / 20_000
    torch.testing.assert_close(shares, torch.softmax(row / temperature, -1), atol=0.02, rtol=0)
    plain = torch.softmax(row.double(), -1)
    torch.testing.assert_close(confidence, plain[tokens])  # confidence is not tempered


def test_each_confidence() -> None:
    logits = torch.tensor([[0.5, 0.3, 0.2, 1e-9]]).log()
    values = {name: proposed(logits, confidence=measure)[1].item() for name, measure in CONFIDENCES.items()}
    assert values["low_confidence"] == pytest.approx(0.5, abs=1e-6)
    assert values["topk_margin"] == pytest.approx(0.2, abs=1e-6)
    assert values["entropy"] == pytest.approx(sum(p * math.log(p) for p in (0.5, 0.3, 0.2)), abs=1e-6)


def test_entropy_survives_a_probability_of_zero() -> None:
    assert (
        proposed(torch.tensor([[900.0, 0.0, 0.0, 0.0]]), confidence=CONFIDENCES["entropy"])[1].item() == 0.0
    )


def test_an_unknown_confidence_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'best'; known: low_confidence, maskgit_plus, topk_margin"):
        confidence_named("best")


def test_dream_measures_what_tokens_are_drawn_from() -> None:
    logits = torch.tensor([[1.0, 0.0, -1.0, -9.0]]).repeat(50, 1)
    tokens, confidence = proposed(logits, 0.5, confidence=confidence_named("maskgit_plus"), top_k=2)
    sharper = torch.softmax(torch.tensor([2.0, 0.0], dtype=torch.float64), -1)
    torch.testing.assert_close(confidence, sharper[tokens])
    margin = proposed(logits, 0.5, confidence=confidence_named("topk_margin"), top_k=2)[1]
    torch.testing.assert_close(margin, (sharper[0] - sharper[1]).expand(50))


def test_origin_orders_at_random_but_repeats() -> None:
    logits = torch.zeros(30, 6)
    draws = [proposed(logits, seed=seed, confidence=confidence_named("random"))[1] for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert len(draws[0].unique()) == 30


@pytest.mark.parametrize(
    ("more", "allowed"),
    [
        ({"top_k": 1}, {1}),
        ({"top_k": 2}, {1, 2}),
        ({"top_p": 0.5}, {1}),
        ({"top_p": 0.7}, {1, 2}),  # 0.6 does not reach it
        ({"top_p": 1.0}, {0, 1, 2}),
        ({"top_p": 0.95, "top_k": 2}, {1, 2}),
        ({}, {0, 1, 2}),
    ],
)
def test_top_k_and_top_p_leave_the_best(more: dict[str, Any], allowed: set[int]) -> None:
    logits = torch.tensor([[0.1, 0.6, 0.29, 0.01]]).log().repeat(500, 1)
    assert set(proposed(logits, 1.0, **more)[0].tolist()) == allowed


@pytest.mark.parametrize("more", [{"top_k": 1}, {"top_p": 0.5}])
def test_where_only_the_mask_is_left_the_best_of_the_others_stands_in(more: dict[str, Any]) -> None:
    assert proposed(torch.tensor([[0.0, 1.0, 2.0, 99.0]]), **more)[0].tolist() == [2]


def test_banned_tokens_are_never_proposed() -> None:
    logits = torch.tensor([[5.0, 1.0, 0.0, 9.0], [5.0, 1.0, 0.0, 9.0]])
    banned = torch.tensor([[True, False, False, False], [False, False, False, False]])
    assert proposed(logits, banned=banned)[0].tolist() == [1, 0]
