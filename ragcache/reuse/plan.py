"""From a policy to a plan: which rows one request computes at a refresh, and from which layer on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.decoding.caches import Live
from ragcache.decoding.canvas import Canvas
from ragcache.decoding.step import Work
from ragcache.errors import ConfigError
from ragcache.model.attention import Backend, RequestKV
from ragcache.model.config import ModelConfig
from ragcache.model.path import LateRows, RowPath
from ragcache.model.private_memory import PrivateMemory
from ragcache.model.segment import Segment
from ragcache.model.transformer import MaskPredictor
from ragcache.reuse.budget import Share
from ragcache.reuse.context import ReuseContext
from ragcache.reuse.depth import DepthTable, fixed_depth
from ragcache.reuse.exact import always_live, most_always_live, split_exact
from ragcache.reuse.policy import Depth, ReusePolicy


@dataclass(frozen=True)
class Plan:
    """What a request computes: `anchors` and everything `fresh` (in no page); all else stays frozen.

    Anchors join at layer `depth` with the hidden states `[anchors, hidden]` of their pages. `scores` are the
    criterion's, of the positions `scored` (empty when nothing was scored).
    """

    fresh: Tensor
    anchors: Tensor
    kv: RequestKV
    depth: int
    hidden: Tensor | None
    refresh_every: int | None
    scored: Tensor
    scores: Tensor

    @property
    def live(self) -> Tensor:
        """Positions computed when anchors are refreshed."""
        return torch.cat((self.fresh, self.anchors)).sort().values

    def at_block(self, block: int) -> Live:
        """The rows of a refresh at the start of block number `block`, and their path."""
        every = self.refresh_every
        if block and (every is None or block % every):
            return Live(self.fresh)
        live = self.live
        return Live(live, self._path(live))

    def _path(self, live: Tensor) -> RowPath | None:
        if self.hidden is None:
            return None
        return LateRows(self.depth, torch.searchsorted(live, self.anchors), self.hidden)


def depth_table(policy: ReusePolicy, layers: int, own: DepthTable | None) -> DepthTable | None:
    """The table a policy uses for a model of `layers`, whose own table is `own`; None without depth reuse.

    Raises `ConfigError` when there is none, or it is another model's.
    """
    depth: Depth | None = policy.depth
    if depth is None:
        return None
    if depth.layers is not None:
        return fixed_depth(depth.layers, layers)
    table = depth.table or own
    if table is None:
        raise ConfigError(
            "policy 'depth': this model has no depth table; measure it with ragcache profile-depth, "
            "or give a number of layers: depth=4"
        )
    return table.for_layers(layers)


def most_live(config: ModelConfig, tokens: int, affix_tokens: int, policy: ReusePolicy) -> int:
    """How many of `tokens` positions, `affix_tokens` of them in affixes, a plan computes at most.

    Known before there are pages, and whatever the criterion chooses then.
    """
    if not policy.reuses:
        return tokens
    anchors = Share(policy.amount.most).of(affix_tokens)
    return min(tokens, tokens - affix_tokens + anchors + most_always_live(config))


def make_plan(
    predictor: MaskPredictor,
    canvas: Canvas,
    segments: Sequence[Segment],
    policy: ReusePolicy,
    backend: Backend,
    own_table: DepthTable | None = None,
    memory: PrivateMemory | None = None,
) -> Work[Plan]:
    """Choose anchors, probing where the criterion needs it; `segments` are disjoint and in prompt order.

    What is exact needs no anchors, and what can never be frozen is computed whatever the budget
    (`ragcache.reuse.exact`).

    Pages must hold hidden states at the depth of the request, see `depth_table` and its `checkpoints`. The
    private part of the KV lies in `memory`.
    """
    segments = always_live(canvas, segments)
    exact, stale = split_exact(canvas, segments)
    config, placed = predictor.config, [*exact, *stale]
    kv = backend(config, canvas.tokens, placed, predictor.dtype, predictor.devices, memory)
    affix = _positions(stale)
    fresh = _complement(_positions(placed), canvas.tokens)
    masked = torch.arange(canvas.prompt_tokens, canvas.tokens)
    context = ReuseContext(canvas.token_ids, fresh, affix, masked, kv, stale, predictor)
    anchors, scores = yield from _choose(policy, context)
    layers = config.layers
    table = depth_table(policy, layers, own_table)
    depth = table.depth(len(affix) / canvas.tokens) if table else 0
    if depth >= layers:  # every layer comes from the pages: nothing is left to recompute
        anchors = anchors[:0]
    hidden = _hidden(stale, anchors, depth) if depth and len(anchors) else None
    kv = kv.promote(anchors, depth)
    return Plan(fresh, anchors, kv, depth, hidden, policy.refresh_every, affix[: len(scores)], scores)


def _choose(policy: ReusePolicy, context: ReuseContext) -> Work[tuple[Tensor, Tensor]]:
    """Anchors, sorted, and scores; no probe when all tokens or none are to be recomputed."""
    affix, budget = context.frozen, policy.amount
    unscored = torch.empty(0)
    if not len(affix) or budget.least >= 1.0:
        return affix, unscored
    if budget.most <= 0.0:
        return affix[:0], unscored
    if budget.least == budget.most and budget.count(torch.ones(len(affix))) >= len(affix):
        return affix, unscored
    scores = yield from policy.criterion.score(context)
    order = scores.sort(descending=True, stable=True).indices  # ties go to the lower position
    return affix[order[: budget.count(scores)]].sort().values, scores


def _hidden(segments: Sequence[Segment], anchors: Tensor, depth: int) -> Tensor:
    """Hidden states `[anchors, hidden]` before layer `depth`."""
    parts = []
    for segment in segments:
        own = anchors[torch.isin(anchors, segment.positions)]
        if depth not in segment.page.hidden:
            raise ConfigError(
                f"a page keeps no hidden states at layer {depth}, which the policy needs; encode it again"
            )
        parts.append(segment.page.hidden[depth][own - segment.offset])
    return torch.cat(parts)


def _positions(segments: Sequence[Segment]) -> Tensor:
    return torch.cat([torch.empty(0, dtype=torch.int64), *(segment.positions for segment in segments)])


def _complement(positions: Tensor, tokens: int) -> Tensor:
    live = torch.ones(tokens, dtype=torch.bool)
    live[positions] = False
    return live.nonzero().squeeze(-1)
