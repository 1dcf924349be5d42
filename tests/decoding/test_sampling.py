from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from ragcache.decoding.sampling import CONFIDENCES, Confidence, confidence_named, low_confidence, propose
from ragcache.errors import ConfigError

MASK = 3


def proposed(
    logits: Tensor, temperature: float = 0.0, seed: int = 0, confidence: Confidence = low_confidence
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return propose(logits, mask_id=MASK, temperature=temperature, generator=generator, confidence=confidence)


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
    with pytest.raises(ConfigError, match=r"'best'; known: low_confidence, topk_margin, entropy"):
        confidence_named("best")
