"""All columns that one request sees, by position, made anew at every layer in the same buffer.

For many rows this is cheaper than reading pages where they lie: a key is turned once, not every query for
every page, and there is nothing to merge. What it takes is one layer of one request.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ragcache.model.config import ModelConfig
from ragcache.model.reads import Columns
from ragcache.model.segment import Segment


class GatheredColumns:
    """`Columns`: the `private` ones, which stand at `places`, and between them those of `segments`."""

    def __init__(
        self, private: Columns, places: Tensor, segments: Sequence[Segment], tokens: int, config: ModelConfig
    ) -> None:
        self.private, self.places, self.segments, self.tokens = private, places, segments, tokens
        self.turns = [segment.run_turn(config) for segment in segments]
        self._buffer: tuple[Tensor, Tensor] | None = None
        self._layer = -1

    def __call__(self, layer: int) -> tuple[Tensor, Tensor]:
        """See `ragcache.model.reads.Columns`. What it returns is written over at the next layer."""
        own_keys, own_values = self.private(layer)
        keys, values = self._room(own_keys)
        if layer != self._layer:  # else somebody looks once more, and the pages are there
            for segment, turn in zip(self.segments, self.turns, strict=True):
                segment.place(layer, keys, values, turn)
            self._layer = layer
        places = self.places.to(keys.device)
        keys.index_copy_(1, places, own_keys)
        values.index_copy_(1, places, own_values)
        return keys, values

    def _room(self, own: Tensor) -> tuple[Tensor, Tensor]:
        """For all keys and all values; fresh memory at every layer would cost more than what is copied."""
        if self._buffer is None or self._buffer[0].device != own.device:
            shape = (own.shape[0], self.tokens, own.shape[2])
            self._buffer = own.new_empty(shape), own.new_empty(shape)
        return self._buffer
