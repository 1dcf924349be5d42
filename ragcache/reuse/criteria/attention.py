"""Criteria by attention: one forward of the live rows over the frozen pages (the probe)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.decoding.step import Step, Work
from ragcache.model.attention import RequestKV
from ragcache.model.rows import LayerRows
from ragcache.reuse.context import ReuseContext

# scaled scores [heads, n, positions] -> weights [heads, n, frozen]
Weigh = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Influence:
    """ACache's probe: attention of the masks on the affix keys alone.

    One softmax over all affixes together lets them compete. The authors' softmax per affix (`joint` False)
    gives each affix the same mass and so favours short ones.
    """

    joint: bool = True
    is_mass: bool = True

    @property
    def name(self) -> str:
        """See `AnchorCriterion`."""
        return "acache" if self.joint else "acache-each"

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""
        sizes = [int(segment.keep.sum()) for segment in context.segments]
        groups = [len(context.frozen)] if self.joint else sizes

        def weigh(scores: Tensor) -> Tensor:
            columns = scores[..., context.frozen.to(scores.device)]
            parts = torch.split(columns, groups, dim=-1)
            return torch.cat([torch.softmax(part, dim=-1) for part in parts], dim=-1)

        return _probe(context, context.masked, weigh)


@dataclass(frozen=True)
class AttentionMass:
    """Attention of the masks on the affix keys, as it is in the whole row: a softmax over every key."""

    name: str = "mass"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""
        return _probe(context, context.masked, _whole_row(context))


@dataclass(frozen=True)
class QuestionAttention:
    """ProphetKV (arXiv 2602.02579): attention of the question's tokens instead of the masks'."""

    name: str = "question"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`. A prompt without a live token is asked by its masks."""
        rows = context.question if len(context.question) else context.masked
        return _probe(context, rows, _whole_row(context))


def _whole_row(context: ReuseContext) -> Weigh:
    return lambda scores: torch.softmax(scores, dim=-1)[..., context.frozen.to(scores.device)]


def _probe(context: ReuseContext, watched: Tensor, weigh: Weigh) -> Work[Tensor]:
    probe = _Probe(torch.searchsorted(context.live, watched), len(context.frozen), weigh)
    rows = context.token_ids[context.live]
    nothing = torch.empty(0, dtype=torch.int64)
    yield Step(context.live, rows, nothing, context.kv, probe, "probe")
    return probe.total


class _Probe:
    """Sums over heads, watched rows and layers; never holds more than the watched rows of one layer."""

    def __init__(self, watched: Tensor, frozen: int, weigh: Weigh) -> None:
        self.watched, self.weigh = watched, weigh
        self.total = torch.zeros(frozen, dtype=torch.float32)

    def observe(self, layer: int, rows: LayerRows, kv: RequestKV) -> None:
        """See `ragcache.model.ragged.Observer`."""
        if layer == 0:  # a forward that failed half way is run again
            self.total.zero_()
        scores = kv.scores(layer, rows.take(self.watched.to(rows.q.device)))
        self.total += self.weigh(scores).sum(dim=(0, 1)).cpu()
