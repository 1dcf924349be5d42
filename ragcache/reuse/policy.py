"""Reuse policies: which affix tokens a request recomputes, and the plan that follows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.step import Work
from ragcache.errors import ConfigError
from ragcache.model.attention import Backend, RequestKV
from ragcache.model.segment import Segment
from ragcache.model.transformer import MaskPredictor
from ragcache.reuse.criteria import AnchorCriterion, Influence, ReuseContext


@dataclass(frozen=True)
class ReusePolicy:
    """Recompute the share `budget` (0..1) of all affix tokens, chosen by `criterion`.

    Budget 0 reuses everything as it is (direct); budget 1 recomputes everything (full).
    """

    budget: float = 0.2
    criterion: AnchorCriterion = field(default_factory=Influence)

    def __post_init__(self) -> None:
        if not 0.0 <= self.budget <= 1.0:
            raise ConfigError(f"budget {self.budget} lies outside 0..1; use 0.2 to recompute a fifth")

    @property
    def name(self) -> str:
        """`full`, `direct` or `criterion@budget`."""
        ends = {0.0: "direct", 1.0: "full"}
        return ends.get(self.budget, f"{self.criterion.name}@{self.budget:g}")

    @property
    def reuses(self) -> bool:
        """False when every affix token is recomputed anyway, so that no page is needed."""
        return self.budget < 1.0

    def anchors(self, affix_tokens: int) -> int:
        """How many of `affix_tokens` become anchors; rounded up."""
        return math.ceil(round(self.budget * affix_tokens, 9))


Full = ReusePolicy(budget=1.0)
Direct = ReusePolicy(budget=0.0)


def Anchors(budget: float = 0.2) -> ReusePolicy:
    """ACache: the `budget` share of affix tokens that the masks attend to most."""
    return ReusePolicy(budget=budget)


def parse_policy(text: str) -> ReusePolicy:
    """A policy from its short form: `full`, `direct`, `acache@0.2`."""
    named = {"full": Full, "direct": Direct}
    if text in named:
        return named[text]
    kind, _, budget = text.partition("@")
    if kind == "acache":
        try:
            return Anchors(float(budget)) if budget else Anchors()
        except ValueError as error:
            raise ConfigError(f"policy {text!r}: {error}") from None
    raise ConfigError(f"unknown policy {text!r}; known: full, direct, acache@BUDGET (e.g. acache@0.2)")


@dataclass(frozen=True)
class Plan:
    """What a request computes: `live` positions at every refresh, `anchors` among them, all else frozen."""

    live: Tensor
    anchors: Tensor
    kv: RequestKV


def make_plan(
    predictor: MaskPredictor,
    canvas: Canvas,
    segments: Sequence[Segment],
    policy: ReusePolicy,
    backend: Backend,
) -> Work[Plan]:
    """Choose anchors, probing where the criterion needs it; `segments` are disjoint and in prompt order."""
    kv = backend(predictor.config, canvas.tokens, segments, predictor.dtype, predictor.device)
    affix = torch.cat([torch.empty(0, dtype=torch.int64), *(segment.positions for segment in segments)])
    live = _complement(affix, canvas.tokens)
    count = policy.anchors(len(affix))
    anchors = affix[:0]
    if count >= len(affix):
        anchors = affix
    elif count:
        masked = torch.arange(canvas.prompt_tokens, canvas.tokens)
        context = ReuseContext(canvas.token_ids, live, affix, masked, kv)
        scores = yield from policy.criterion.score(context)
        anchors = affix[scores.sort(descending=True, stable=True).indices[:count]].sort().values
    return Plan(torch.cat((live, anchors)).sort().values, anchors, kv.promote(anchors))


def _complement(positions: Tensor, tokens: int) -> Tensor:
    live = torch.ones(tokens, dtype=torch.bool)
    live[positions] = False
    return live.nonzero().squeeze(-1)
