"""Anchor criteria: scores for the affix tokens of one request; the highest become anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ragcache.decoding.step import Step, Work
from ragcache.model.attention import RequestKV
from ragcache.model.rows import LayerRows


@dataclass(frozen=True)
class ReuseContext:
    """What a criterion may look at: ids of prompt and canvas `[t]`, live and frozen positions, and the KV.

    `live` and `frozen` are sorted and together cover all positions; `masked` are the canvas's masks.
    """

    token_ids: Tensor
    live: Tensor
    frozen: Tensor
    masked: Tensor
    kv: RequestKV


class AnchorCriterion(Protocol):
    """The one extension point: implement `score`."""

    @property
    def name(self) -> str:
        """Short name, as in policy strings."""
        ...

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """Scores `[frozen]`, one per frozen position; may yield forwards of its own."""
        ...


@dataclass(frozen=True)
class Influence:
    """ACache's probe: attention of the masks on the affix keys, one joint softmax over all affixes, fp32.

    Summed over heads, masks and layers. The joint softmax lets affixes compete; one per affix would give each
    the same mass and favour short ones.
    """

    name: str = "acache"

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""
        probe = _Probe(torch.searchsorted(context.live, context.masked), len(context.frozen))
        rows = context.token_ids[context.live]
        yield Step(context.live, rows, torch.empty(0, dtype=torch.int64), context.kv, probe, "probe")
        return probe.scores


class _Probe:
    """Accumulates layer by layer; never holds more than the mask rows of one layer."""

    def __init__(self, mask_rows: Tensor, frozen: int) -> None:
        self.mask_rows = mask_rows
        self.scores = torch.zeros(frozen, dtype=torch.float32)

    def observe(self, layer: int, rows: LayerRows, kv: RequestKV) -> None:
        """See `ragcache.model.attention.Observer`."""
        if layer == 0:  # a forward that failed half way is run again
            self.scores.zero_()
        scores = kv.frozen_scores(layer, rows.take(self.mask_rows.to(rows.q.device)))
        self.scores += torch.softmax(scores, dim=-1).sum(dim=(0, 1)).cpu()
