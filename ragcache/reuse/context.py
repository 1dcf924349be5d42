"""What a criterion looks at, and what it has to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ragcache.decoding.step import Work
from ragcache.model.attention import RequestKV
from ragcache.model.segment import Segment
from ragcache.model.transformer import MaskPredictor


@dataclass(frozen=True)
class ReuseContext:
    """One request before its first refresh: ids of prompt and canvas `[t]`, positions, pages, and the KV.

    `live` and `frozen` are sorted and together cover all positions but those of exact columns; `masked` are
    the canvas's masks, `question` the live prompt tokens after the last affix (all, when it ends the prompt).
    """

    token_ids: Tensor
    live: Tensor
    frozen: Tensor
    masked: Tensor
    kv: RequestKV
    segments: Sequence[Segment]
    predictor: MaskPredictor

    @property
    def question(self) -> Tensor:
        """See the class."""
        prompt = self.live[self.live < len(self.token_ids) - len(self.masked)]
        after = prompt[prompt > self.frozen[-1]] if len(self.frozen) else prompt
        return after if len(after) else prompt

    def page_columns(self, layer: int) -> tuple[Tensor, Tensor]:
        """The pages' keys, turned to their positions, and values there: `[kv_heads, frozen, head_dim]`."""
        config = self.predictor.config
        keys = [
            s.turned_keys(layer, s.keep, s.turn(s.positions, config), s.page.keys[layer])
            for s in self.segments
        ]
        values = [s.page.values[layer][:, s.keep] for s in self.segments]
        return torch.cat(keys, dim=1), torch.cat(values, dim=1)


class AnchorCriterion(Protocol):
    """The one extension point: implement `score`."""

    @property
    def name(self) -> str:
        """Short name, as in policy strings."""
        ...

    @property
    def is_mass(self) -> bool:
        """Whether scores are shares of a whole (none negative), so that a budget may be a share of it."""
        ...

    def score(self, context: ReuseContext) -> Work[Tensor]:
        """Scores `[frozen]` on the CPU, one per frozen position; may yield forwards of its own."""
        ...
