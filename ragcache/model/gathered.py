"""All columns that one request sees, side by side, made anew at every layer in the same buffer.

For many rows this is cheaper than reading pages where they lie: a key is turned once, not every query for
every page, and there is nothing to merge. What it takes is one layer of one request.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragcache.model.config import ModelConfig
from ragcache.model.reads import Columns
from ragcache.model.segment import Segment, on_device


class GatheredColumns:
    """`Columns`: the `private` ones, then those of `segments` that are seen, turned to their positions."""

    def __init__(self, private: Columns, segments: Sequence[Segment], config: ModelConfig) -> None:
        self.private, self.segments = private, segments
        self.positions = [segment.positions for segment in segments]
        self.turns = [
            segment.turn(own, config) for segment, own in zip(segments, self.positions, strict=True)
        ]
        self._room: tuple[Tensor, Tensor] | None = None

    def after(self, private: Tensor) -> Tensor:
        """Positions `[m]` of all columns, those of the private ones given."""
        return torch.cat([private, *(own.to(private.device) for own in self.positions)])

    def __call__(self, layer: int) -> tuple[Tensor, Tensor]:
        """See `ragcache.model.reads.Columns`. What it returns is written over at the next layer."""
        own_keys, own_values = self.private(layer)
        keys, values = self._room_beside(own_keys)
        start = own_keys.shape[1]
        keys[:, :start], values[:, :start] = own_keys, own_values
        for segment, turn, own in zip(self.segments, self.turns, self.positions, strict=True):
            stop = start + len(own)
            keys[:, start:stop] = segment.turned_keys(layer, segment.kept, turn, keys)
            values[:, start:stop] = segment.page.values[layer][:, on_device(segment.kept, values.device)]
            start = stop
        return keys, values

    def _room_beside(self, own: Tensor) -> tuple[Tensor, Tensor]:
        """For all keys and all values; fresh memory at every layer would cost more than what is copied."""
        if self._room is None or self._room[0].device != own.device:
            tokens = own.shape[1] + sum(map(len, self.positions))
            shape = (own.shape[0], tokens, own.shape[2])
            self._room = own.new_empty(shape), own.new_empty(shape)
        return self._room
