"""Criteria that look at no activations: where a token stands, or chance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.decoding.step import Step, Work
from ragcache.reuse.context import ReuseContext


@dataclass(frozen=True)
class FirstK:
    """EPIC (arXiv 2410.15332): the first tokens of every affix, as many of each."""

    name: str = "first"
    is_mass: bool = False

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""
        sizes = [int(segment.keep.sum()) for segment in context.segments]
        inside = torch.cat([torch.empty(0, dtype=torch.int64), *(torch.arange(size) for size in sizes)])
        return (yield from _no_forward(-inside.to(torch.float32)))


@dataclass(frozen=True)
class Random:
    """Chance, the same for the same prompt."""

    seed: int = 0
    name: str = "random"
    is_mass: bool = False

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """See `AnchorCriterion`."""
        mixed = self.seed
        for token in context.token_ids.tolist():
            mixed = (mixed * 1_000_003 + token + 1) % (2**61 - 1)
        generator = torch.Generator().manual_seed(mixed)
        return (yield from _no_forward(torch.rand(len(context.frozen), generator=generator)))


def _no_forward(scores: Tensor) -> Work[Tensor]:
    steps: tuple[Step, ...] = ()
    yield from steps  # work without a step of its own
    return scores
