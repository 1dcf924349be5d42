"""Random pages and rows for tests of attention."""

from __future__ import annotations

import torch
from torch import Tensor

from ragcache.model.attention import RequestKV
from ragcache.model.config import ModelConfig
from ragcache.model.ragged import RaggedKV
from ragcache.model.rope import angles, rotate
from ragcache.model.rows import LayerRows
from ragcache.model.scores import scores_of
from ragcache.page import Page
from reference.tiny import CONFIGS

CONFIG = CONFIGS["gqa"]


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def random_page(tokens: int, seed: int, config: ModelConfig = CONFIG) -> Page:
    shape = (config.layers, config.kv_heads, tokens, config.head_dim)
    return Page(torch.arange(tokens), tuple(normal(*shape, seed=seed)), tuple(normal(*shape, seed=seed + 50)))


def random_rows(positions: Tensor, seed: int, config: ModelConfig = CONFIG) -> LayerRows:
    n = len(positions)
    q = normal(n, config.heads, config.head_dim, seed=seed)
    k, v = normal(2, n, config.kv_heads, config.head_dim, seed=seed + 1)
    turn = angles(positions, config.rotary_dim, config.rope_theta)
    return LayerRows(q, k, v, rotate(q, *turn), rotate(k, *turn), positions)


def scores_by_position(kv: RequestKV, layer: int, rows: LayerRows, tokens: int) -> Tensor:
    """Scores `[heads, n, tokens]` of the rows over all columns that they see; -inf elsewhere."""
    reads = kv.reads(rows.positions)
    found = torch.cat(list(scores_of(reads, layer, rows, torch.arange(len(rows.q)))))
    by_position = torch.full((*found.shape[:2], tokens), float("-inf"))
    seen = (found > float("-inf")).any(dim=0).any(dim=0)
    by_position[..., reads.positions[seen]] = found[..., seen]
    return by_position


def attend(kv: RequestKV, layer: int, rows: LayerRows) -> Tensor:
    return RaggedKV([kv]).attend(layer, rows, (0, len(rows.q)))
