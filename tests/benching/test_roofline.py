"""Operations are counted as the modules compute them."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from ragcache.benching.roofline import Roofline, forward_flops, matmul_flops_per_s, roofline
from ragcache.model.attention import GatherKV
from ragcache.model.ragged import RaggedKV
from ragcache.model.rows import Rows
from reference.tiny import CONFIGS, tiny_model

ROWS, SAMPLED = 24, 8


def test_operations_are_those_of_the_matrix_products() -> None:
    config = CONFIGS["gqa"]
    model = tiny_model(config)
    kv = GatherKV(config, ROWS, (), model.dtype, model.devices)
    rows = Rows.single(torch.zeros(ROWS, dtype=torch.int64), torch.arange(ROWS))
    with FlopCounterMode(display=False) as counter:
        hidden = model(rows, RaggedKV([kv], [None], [None]), torch.arange(SAMPLED))
        model.logits(hidden)
    counted = counter.get_total_flops()
    ours = forward_flops(config, ROWS, SAMPLED)
    # Attention's own kernel may not be counted; everything else has to be there.
    attention = config.layers * 4 * ROWS * ROWS * config.heads * config.head_dim
    assert counted in (ours, ours - attention)


def test_the_share_is_what_refreshes_reach_of_plain_products() -> None:
    assert Roofline(30.0, 120.0, 10, "bfloat16").share == 0.25
    model = tiny_model()
    found = roofline(model, (0.5, 0.25, 9.0), ROWS, SAMPLED)
    assert found.refresh_flops_per_s == forward_flops(model.config, ROWS, SAMPLED) / 0.5
    assert found.matmul_flops_per_s > 0
    assert found.dtype == "float32"
    assert matmul_flops_per_s(model, ROWS, repeats=1) > 0
