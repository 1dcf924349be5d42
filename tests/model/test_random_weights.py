"""Random models have the size they are asked for."""

from __future__ import annotations

import pytest
import torch

from ragcache.errors import UnknownModelError
from ragcache.model.blank import blank
from ragcache.model.random_weights import config_of_size, parameter_count, random_config, random_predictor
from ragcache.model.transformer import MaskPredictor


@pytest.mark.parametrize(
    ("size", "parameters"),
    [("4m", 4e6), ("5m", 5e6), ("150m", 150e6), ("150M", 150e6), ("0.35b", 350e6), ("1b", 1e9), ("8b", 8e9)],
)
def test_the_size_is_met_within_a_tenth_by_even_layers_with_heads_of_64(size: str, parameters: float) -> None:
    config = config_of_size(size)
    with blank():
        count = parameter_count(MaskPredictor(config))
    assert count == pytest.approx(parameters, rel=0.1)
    assert config.layers % 2 == 0
    assert config.heads * config.head_dim == config.hidden_size
    assert config.embedding_rows == 8192 or 2 * config.embedding_rows * config.hidden_size <= 0.55 * count


@pytest.mark.parametrize("size", ["", "150", "m", "1k", "3m", "200b", "-5m", "1e3m", "150mb", "nan", "1.m"])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(UnknownModelError, match="random:5m, random:150m, random:1b"):
        config_of_size(size)


def test_weights_repeat_by_seed_and_leave_the_global_generator_alone() -> None:
    config = random_config(layers=1, width=64, embedding_rows=128)
    state = torch.get_rng_state()
    one, same, other = (random_predictor(config, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert one.dtype == torch.bfloat16
    assert torch.equal(one.embed.weight, same.embed.weight)
    assert not torch.equal(one.embed.weight, other.embed.weight)
    assert one.head.weight.float().std().item() == pytest.approx(0.02, rel=0.1)
    assert torch.equal(one.norm.weight, torch.ones(64, dtype=torch.bfloat16))
