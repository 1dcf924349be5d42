"""Operations are counted as the modules compute them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ragcache.benching.roofline import Roofline, forward_flops, matmul_flops_per_s, roofline
from ragcache.model.attention import GatherKV
from ragcache.model.ragged import RaggedKV
from ragcache.model.rows import Rows
from reference.tiny import CONFIGS, tiny_model

ROWS, SAMPLED = 24, 8


def test_operations_are_those_of_the_matrix_products() -> None:
    config = CONFIGS["gqa"]
    model = tiny_model(config)
    counted = 4 * config.layers * ROWS * ROWS * config.heads * config.head_dim

    def count(module: nn.Linear, inputs: tuple[Tensor], output: Tensor) -> None:
        nonlocal counted
        counted += 2 * len(inputs[0]) * module.in_features * module.out_features

    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(count)
    kv = GatherKV(config, ROWS, (), model.dtype, model.devices)
    rows = Rows.single(torch.zeros(ROWS, dtype=torch.int64), torch.arange(ROWS))
    model.logits(model(rows, RaggedKV([kv], [None], [None]), torch.arange(SAMPLED)))
    assert forward_flops(config, ROWS, SAMPLED) == counted


def test_the_share_is_what_refreshes_reach_of_plain_products() -> None:
    assert Roofline(30.0, 120.0, 10, "bfloat16").share == 0.25
    model = tiny_model()
    found = roofline(model, (0.5, 0.25, 9.0), ROWS, SAMPLED)
    assert found.refresh_flops_per_s == forward_flops(model.config, ROWS, SAMPLED) / 0.5
    assert found.matmul_flops_per_s > 0
    assert found.dtype == "float32"
    assert matmul_flops_per_s(model, ROWS, repeats=1) > 0
