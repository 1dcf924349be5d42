"""Scores of rows over their own columns and over pages, beside the same made column by column in fp64."""

from __future__ import annotations

import pytest
import torch
from model.random_kv import random_page, random_rows
from torch import Tensor

from ragcache.model import scores as scores_module
from ragcache.model.config import ModelConfig
from ragcache.model.rope import angles, rotate
from ragcache.model.scores import scores_of
from ragcache.model.segment import Segment, whole
from ragcache.model.segment_attention import SegmentBackend
from reference.tiny import CONFIGS, FAMILIES

TOKENS, LAYER = 32, 1
MODELS = {**{kind: CONFIGS[kind] for kind in ("mha", "gqa", "mqa")}, "block-causal": FAMILIES["sdar"]}
INDEX = torch.tensor([0, 3, 4, 9])


def segments_of(config: ModelConfig) -> list[Segment]:
    """One page twice, and one with hidden columns, which stand where others do."""
    page, keep = random_page(7, 1, config), torch.tensor([False] * 2 + [True] * 5 + [False] * 2)
    return [whole(page, 1), whole(page, 10), Segment(random_page(9, 2, config), 16, keep)]


def column_by_column(config: ModelConfig, q: Tensor, rows: Tensor, own: Tensor, own_k: Tensor) -> Tensor:
    """`[heads, rows, columns]`, own columns first; q and own_k before RoPE, as `[n, heads, head_dim]`."""
    segments = segments_of(config)
    at = torch.cat([own, *(segment.columns for segment in segments)])
    keys = torch.cat([own_k.transpose(0, 1), *(segment.page.keys[LAYER] for segment in segments)], dim=1)
    keep = torch.cat([torch.ones(len(own), dtype=torch.bool), *(segment.keep for segment in segments)])
    turned_q = rotate(q, *angles(rows, config.rotary_dim, config.rope_theta)).double()
    turned_k = rotate(keys.transpose(0, 1), *angles(at, config.rotary_dim, config.rope_theta)).double()
    turned_k = turned_k.repeat_interleave(config.heads // config.kv_heads, dim=1)
    found = torch.einsum("nhd,mhd->hnm", turned_q, turned_k) / config.head_dim**0.5
    if config.causal_block:
        keep = keep & (at // config.causal_block <= (rows // config.causal_block)[:, None])
    return found.masked_fill(~keep, float("-inf"))


@pytest.mark.parametrize("scores_at_a_time", [1, 2**18])
@pytest.mark.parametrize("part", [None, range(10, 17)], ids=["every column", "some columns"])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-5), (torch.bfloat16, 6e-2)], ids=str)
@pytest.mark.parametrize("kind", MODELS)
def test_scores_are_those_of_every_row_and_column(
    kind: str,
    dtype: torch.dtype,
    close: float,
    part: range | None,
    scores_at_a_time: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scores_module, "CPU_SCORES", scores_at_a_time)
    config = MODELS[kind]
    kv = SegmentBackend(query_cost=0.0)(config, TOKENS, segments_of(config), dtype, torch.device("cpu"))
    own = torch.tensor([p for p in range(TOKENS) if not (1 <= p < 8 or 10 <= p < 17 or 18 <= p < 23)])
    rows = random_rows(own, 5, config)
    wanted = column_by_column(config, rows.q[INDEX], own[INDEX], own, rows.k)
    rows = type(rows)(*(t.to(dtype) for t in (rows.q, rows.k, rows.v, rows.rotated_q, rows.rotated_k)), own)
    kv.write(LAYER, rows)
    reads = kv.reads(own)
    assert len(reads.shared) == 3
    among = None if part is None else torch.isin(reads.positions, torch.tensor([*part]))
    if among is not None:
        wanted = wanted.masked_fill(~among, float("-inf"))
    parts = list(scores_of(reads, LAYER, rows, INDEX, among))
    assert len(parts) == (config.kv_heads if scores_at_a_time == 1 else 1)
    found = torch.cat(parts)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), wanted, atol=close, rtol=close)
