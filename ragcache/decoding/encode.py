"""Encode affixes: the same forward, over the affix's tokens alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ragcache.decoding.step import Step, forward
from ragcache.model.attention import GatherKV, PageRecorder
from ragcache.model.transformer import MaskPredictor
from ragcache.page import Page


def encode_affixes(predictor: MaskPredictor, affixes: Sequence[Sequence[int]]) -> list[Page]:
    """Pages of several affixes, each encoded alone at positions 0..n-1, in one ragged forward (ACache)."""
    steps, recorders = [], []
    for ids in affixes:
        token_ids = torch.tensor(ids, dtype=torch.int64)
        kv = GatherKV(predictor.config, len(ids), (), predictor.dtype, predictor.device)
        recorders.append(PageRecorder(kv))
        positions = torch.arange(len(ids))
        nothing = torch.empty(0, dtype=torch.int64)
        steps.append(Step(positions, token_ids, nothing, recorders[-1], kind="encode"))
    forward(predictor, steps)
    return [recorder.page(step.token_ids) for recorder, step in zip(recorders, steps, strict=True)]
