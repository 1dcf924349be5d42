"""All columns that one request sees, side by side, made anew at every layer and then let go.

For many rows this is cheaper than reading pages where they lie: a key is turned once, not every query for
every page, and there is nothing to merge. What it takes is one layer of one request.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragcache.model.config import ModelConfig
from ragcache.model.reads import Columns, ResidentPage
from ragcache.model.rope import column_angles
from ragcache.model.segment import Segment


class GatheredColumns:
    """`Columns`: the `private` ones, then those of `segments` that are seen, turned to their positions."""

    def __init__(
        self, private: Columns, segments: Sequence[tuple[Segment, ResidentPage]], config: ModelConfig
    ) -> None:
        self.private, self.segments = private, segments
        self.kept = [segment.positions - segment.offset for segment, _ in segments]
        self.turns = [
            column_angles(segment.positions, config.rotary_dim, config.rope_theta) for segment, _ in segments
        ]

    def after(self, private: Tensor) -> Tensor:
        """Positions `[m]` of all columns, those of the private ones given."""
        return torch.cat([private, *(segment.positions.to(private.device) for segment, _ in self.segments)])

    def __call__(self, layer: int) -> tuple[Tensor, Tensor]:
        """See `ragcache.model.reads.Columns`."""
        own_keys, own_values = self.private(layer)
        keys, values = [own_keys], [own_values]
        for (segment, page), kept, turn in zip(self.segments, self.kept, self.turns, strict=True):
            keys.append(segment.turned_keys(layer, kept, turn, own_keys))
            values.append(page.values[layer][:, kept.to(own_values.device)])
        return torch.cat(keys, dim=1), torch.cat(values, dim=1)
