"""Criteria by attention: one forward of the live rows over the frozen pages (the probe)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import torch
from torch import Tensor

from ragcache.decoding.step import Step, Work
from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows
from ragcache.model.scores import scores_of
from ragcache.reuse.context import ReuseContext

# positions [m] of columns -> for each softmax which of them compete in it, [m] bool; None: all of them
Rivals: TypeAlias = Callable[[Tensor], Sequence[Tensor | None]]


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
        rivals = _among([torch.cat(every)] if self.joint else every)
        return (yield from _probe(context, [context.masked], rivals))[0]


@dataclass(frozen=True)
class AttentionMass:
    """Attention of the masks on the affix keys, as it is in the whole row: a softmax over every key."""

    name: str = "mass"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""
        return (yield from _probe(context, [context.masked], _whole_row))[0]


@dataclass(frozen=True)
class QuestionAttention:
    """ProphetKV (arXiv 2602.02579): attention of the question's tokens instead of the masks'."""

    name: str = "question"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`. A prompt without a live token is asked by its masks."""
        rows = context.question if len(context.question) else context.masked
        return (yield from _probe(context, [rows], _whole_row))[0]


@dataclass(frozen=True)
class QuestionAndAnswer:
    """Attention of the question's tokens and of the masks in the upper half of the layers, in one probe.

    The question's tokens find the statements it is about, the masks the words of the answer: each alone
    misses what the other sees. Both count the same, however many tokens there are of either. Lower layers
    look at neighbours rather than at what is asked (docs/results.md, "Which criterion").
    """

    name: str = "qa"
    is_mass: bool = True

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""
        groups = [rows for rows in (context.question, context.masked) if len(rows)]
        parts = yield from _probe(context, groups, _whole_row, context.predictor.config.layers // 2)
        return (parts / parts.sum(dim=1, keepdim=True).clamp_min(torch.finfo(parts.dtype).tiny)).sum(dim=0)


def _whole_row(at: Tensor) -> Sequence[Tensor | None]:
    return [None]


def _among(groups: Sequence[Tensor]) -> Rivals:
    """The columns at the positions of each group compete among themselves alone."""
    return lambda at: [torch.isin(at, group.to(at.device)) for group in groups]


def _probe(context: ReuseContext, groups: Sequence[Tensor], rivals: Rivals, first: int = 0) -> Work[Tensor]:
    """What the rows of each group give the frozen positions in layers from `first` on, `[groups, frozen]`."""
    watched = [torch.searchsorted(context.live, positions) for positions in groups]
    probe = _Probe(watched, len(context.token_ids), rivals, first)
    rows = context.token_ids[context.live]
    nothing = torch.empty(0, dtype=torch.int64)
    yield Step(context.live, rows, nothing, context.kv, probe, "probe")
    return probe.total[:, context.frozen]


class _Probe:
    """Sums over heads, layers and each group's rows; never holds more than the watched rows of one layer."""

    def __init__(self, groups: Sequence[Tensor], tokens: int, rivals: Rivals, first: int) -> None:
        self.watched = torch.cat(list(groups))
        ends = list(accumulate(map(len, groups)))
        self.groups = [slice(end - len(rows), end) for rows, end in zip(groups, ends, strict=True)]
        self.rivals, self.first = rivals, first
        self.total = torch.zeros(len(groups), tokens, dtype=torch.float32)

    def observe(self, layer: int, rows: LayerRows, reads: Reads) -> None:
        """See `ragcache.model.ragged.Observer`."""
        if layer == 0:  # a forward that failed half way is run again
            self.total.zero_()
        if layer < self.first:
            return
        at, watched = reads.positions, self.watched.to(reads.positions.device)
        weights = torch.zeros(len(self.groups), len(at), device=at.device)
        for among in self.rivals(at):
            for scores in scores_of(reads, layer, rows, watched, among):
                given = torch.softmax(scores, dim=-1, dtype=torch.float32)
                weights += torch.stack([given[:, group].sum(dim=(0, 1)) for group in self.groups])
        # a page's columns that are not seen may stand anywhere, and weigh nothing
        self.total.index_add_(1, at.clamp(0, self.total.shape[1] - 1).cpu(), weights.cpu())
