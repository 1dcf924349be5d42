"""Criteria by attention: one forward of the live rows over the frozen pages (the probe)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.decoding.step import Step, Work
from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows
from ragcache.model.scores import scores_of
from ragcache.reuse.context import ReuseContext

# scaled scores [heads, n, m] of columns, their positions [m] -> weights [heads, n, m]; may change the scores
Weigh = Callable[[Tensor, Tensor], Tensor]


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
        every = [segment.positions for segment in context.segments]
        return _probe(context, context.masked, _among([torch.cat(every)] if self.joint else every))


@dataclass(frozen=True)
class AttentionMass:
    """Attention of the masks on the affix keys, as it is in the whole row: a softmax over every key."""

    name: str = "mass"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""
        return _probe(context, context.masked, _whole_row)


@dataclass(frozen=True)
class QuestionAttention:
    """ProphetKV (arXiv 2602.02579): attention of the question's tokens instead of the masks'."""

    name: str = "question"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`. A prompt without a live token is asked by its masks."""
        rows = context.question if len(context.question) else context.masked
        return _probe(context, rows, _whole_row)


def _whole_row(scores: Tensor, at: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


def _among(groups: Sequence[Tensor]) -> Weigh:
    """A softmax over the columns at the positions of each group, which compete among themselves alone."""

    def weigh(scores: Tensor, at: Tensor) -> Tensor:
        outside = [~torch.isin(at, group.to(at.device)) for group in groups]
        *others, last = outside
        weights = [torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1) for hidden in others]
        weights.append(torch.softmax(scores.masked_fill_(last, float("-inf")), dim=-1))
        return sum(weights[1:], start=weights[0])

    return weigh


def _probe(context: ReuseContext, watched: Tensor, weigh: Weigh) -> Work[Tensor]:
    probe = _Probe(torch.searchsorted(context.live, watched), len(context.token_ids), weigh)
    rows = context.token_ids[context.live]
    nothing = torch.empty(0, dtype=torch.int64)
    yield Step(context.live, rows, nothing, context.kv, probe, "probe")
    return probe.total[context.frozen]


class _Probe:
    """Sums over heads, watched rows and layers; never holds more than the watched rows of one layer."""

    def __init__(self, watched: Tensor, tokens: int, weigh: Weigh) -> None:
        self.watched, self.weigh = watched, weigh
        self.total = torch.zeros(tokens, dtype=torch.float32)

    def observe(self, layer: int, rows: LayerRows, reads: Reads) -> None:
        """See `ragcache.model.ragged.Observer`."""
        if layer == 0:  # a forward that failed half way is run again
            self.total.zero_()
        scores = scores_of(reads, layer, rows, self.watched.to(rows.q.device))
        weights = self.weigh(scores, reads.positions).sum(dim=(0, 1))
        # a page's columns that are not seen may stand anywhere, and weigh nothing
        self.total.index_add_(0, reads.positions.clamp(0, len(self.total) - 1).cpu(), weights.cpu())
