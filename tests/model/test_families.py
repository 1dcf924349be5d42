"""The tables of tensor names: complete, one to one, and the names of the real checkpoints."""

from __future__ import annotations

import pytest
import torch

from ragcache.errors import CheckpointError
from ragcache.model.families import tensor_names
from ragcache.model.layers import Router, make_layer
from ragcache.model.layout import blank_model
from ragcache.model.supported import FAMILIES, MODEL_TYPES
from reference.tiny import KINDS


def names_of(kind: str) -> dict[str, tuple[str, ...]]:
    parameters = dict(blank_model(KINDS[kind]).named_parameters())
    return tensor_names(FAMILIES[KINDS[kind].family], parameters)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_has_one_name(kind: str) -> None:
    held = [name for ours in names_of(kind).values() for name in ours]
    assert sorted(held) == sorted(dict(blank_model(KINDS[kind]).named_parameters()))


def test_a_parameter_without_a_name_is_an_error() -> None:
    with pytest.raises(CheckpointError, match=r"family 'llada' has no name for layers\.0\.q_norm"):
        tensor_names(FAMILIES["llada"], ["embed.weight", "layers.0.q_norm.weight"])


def test_names_are_those_of_the_checkpoints() -> None:
    assert names_of("dream")["model.layers.2.self_attn.k_proj.bias"] == ("layers.2.k.bias",)
    assert names_of("dream")["lm_head.weight"] == ("head.weight",)
    assert "model.layers.0.self_attn.o_proj.bias" not in names_of("dream")
    assert names_of("sdar")["model.layers.1.self_attn.q_norm.weight"] == ("layers.1.q_norm.weight",)
    mixture = names_of("llada2")
    fused = ("layers.1.q.weight", "layers.1.k.weight", "layers.1.v.weight")
    assert mixture["model.layers.1.attention.query_key_value.weight"] == fused
    assert mixture["model.layers.0.mlp.gate_proj.weight"] == ("layers.0.gate.weight",)
    assert mixture["model.layers.2.mlp.experts.5.down_proj.weight"] == ("layers.2.experts.5.down.weight",)
    assert "model.layers.1.mlp.gate_proj.weight" not in mixture  # experts stand in its place


def test_model_types_are_the_checkpoints_own() -> None:
    assert set(MODEL_TYPES) == {"llada", "Dream", "sdar", "llada2_moe", "diffusion_gemma"}
    assert all(MODEL_TYPES[family.model_type] is family for family in FAMILIES.values())


def test_a_mixture_of_no_rows_is_nothing() -> None:
    layer = make_layer(KINDS["llada2"], 1)
    assert layer.mlp(torch.empty(0, 32)).shape == (0, 32)


def test_a_router_chooses_within_the_best_groups() -> None:
    experts = KINDS["llada2"].experts
    assert experts is not None
    router = Router(4, experts)
    with torch.no_grad():
        router.weight.zero_()
        router.weight[:, 0] = torch.tensor([3.0, -9.0, 1.0, 1.1, 0.9, 1.2])  # groups (0, 1) (2, 3) (4, 5)
        weights, chosen = router(torch.tensor([[1.0, 0.0, 0.0, 0.0]]))
        assert sorted(chosen[0].tolist()) == [3, 5]  # expert 0 is the best of all, in the worst group
        assert float(weights.sum()) == pytest.approx(experts.scale)
        router.bias[2] = 5.0  # a bias chooses, but does not weigh
        weights, chosen = router(torch.tensor([[1.0, 0.0, 0.0, 0.0]]))
        assert 2 in chosen[0].tolist()
        assert float(weights.max()) < 0.6 * experts.scale
