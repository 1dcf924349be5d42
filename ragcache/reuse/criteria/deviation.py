"""Criteria by drift: how far a page's keys and values are from those of a forward with true context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ragcache.decoding.step import Step, Work
from ragcache.model.attention import GatherKV
from ragcache.model.path import FirstLayers
from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows
from ragcache.reuse.context import ReuseContext

# (true keys, true values, page's keys, page's values), each [kv_heads, frozen, head_dim] -> [frozen].
# Keys are after RoPE, at the same positions, which changes neither distances nor angles between them.
Drift = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class KeyDeviation:
    """CacheBlend (arXiv 2405.16444): squared distance of the keys at `layer`, after the layers up to it."""

    layer: int = 1
    name: str = "blend"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""

        def drift(keys: Tensor, values: Tensor, stale_keys: Tensor, stale_values: Tensor) -> Tensor:
            return (keys - stale_keys).square().sum(dim=(0, 2))

        return _check(context, drift, first=self.layer, stop=self.layer + 1)


@dataclass(frozen=True)
class ValueDrift:
    """dLLM-Cache's measure (arXiv 2506.06295) on affix rows: 1 - cosine of the values at `layer`."""

    layer: int = 1
    name: str = "vsim"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""

        def drift(keys: Tensor, values: Tensor, stale_keys: Tensor, stale_values: Tensor) -> Tensor:
            return cosine_distance(values, stale_values)

        return _check(context, drift, first=self.layer, stop=self.layer + 1)


@dataclass(frozen=True)
class Oracle:
    """True drift of keys and values over all layers, by a full forward: for analysis, it saves nothing."""

    name: str = "oracle"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""

        def drift(keys: Tensor, values: Tensor, stale_keys: Tensor, stale_values: Tensor) -> Tensor:
            return cosine_distance(keys, stale_keys) + cosine_distance(values, stale_values)

        return _check(context, drift, first=0, stop=context.predictor.config.layers)


def cosine_distance(one: Tensor, other: Tensor) -> Tensor:
    """1 - cosine of the vectors `[kv_heads, n, head_dim]` of every token, all heads together; `[n]`, fp32."""
    mine, yours = (t.transpose(0, 1).flatten(1).to(torch.float32) for t in (one, other))
    return (1.0 - F.cosine_similarity(mine, yours, dim=-1)).clamp_min(0.0)


def _check(context: ReuseContext, drift: Drift, *, first: int, stop: int) -> Work[Tensor]:
    """A forward of all rows through the layers below `stop`, into a buffer of its own."""
    predictor = context.predictor
    stop = min(stop, predictor.config.layers)
    first = min(first, stop - 1)
    watch = _Drift(context, drift, first)
    config = replace(predictor.config, layers=stop)
    kv = GatherKV(config, len(context.token_ids), (), predictor.dtype, predictor.devices)
    rows = torch.arange(len(context.token_ids))
    nothing = torch.empty(0, dtype=torch.int64)
    yield Step(rows, context.token_ids, nothing, kv, watch, "probe", FirstLayers(stop))
    return watch.total


class _Drift:
    """Sums the drift of the layers from `first` on."""

    def __init__(self, context: ReuseContext, drift: Drift, first: int) -> None:
        self.context, self.drift, self.first = context, drift, first
        self.total = torch.zeros(len(context.frozen), dtype=torch.float32)

    def observe(self, layer: int, rows: LayerRows, reads: Reads) -> None:
        """See `ragcache.model.ragged.Observer`."""
        if layer == 0:
            self.total.zero_()
        if layer < self.first:
            return
        frozen = self.context.frozen.to(rows.k.device)
        true = (t[frozen].transpose(0, 1).to(torch.float32) for t in (rows.rotated_k, rows.v))
        stale = (t.to(rows.k.device, torch.float32) for t in self.context.page_columns(layer))
        self.total += self.drift(*true, *stale).cpu()
