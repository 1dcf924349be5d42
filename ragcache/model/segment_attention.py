"""One request's KV whose frozen columns stay in shared pages: one resident copy serves every request.

The keys of a shared page are turned by their index inside the affix (`Page.turned`). RoPE scores depend on
distances alone, so a query at position p that is turned by p - offset reads them as they lie, wherever the
segment stands. Nobody needs the page's own keys beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from ragcache.devices import Devices, of_layers
from ragcache.model.config import ModelConfig
from ragcache.model.gathered import GatheredColumns
from ragcache.model.private_memory import FreshMemory, PrivateMemory
from ragcache.model.reads import Columns, PageRead, Reads
from ragcache.model.rope import Turn, frequencies
from ragcache.model.rows import LayerRows
from ragcache.model.segment import Segment, whole
from ragcache.model.visibility import both, visible
from ragcache.page import Page

# What it costs to turn a query for one page and to merge what it read there, in keys copied and turned.
QUERY_COST = 2.0


class SegmentBackend:
    """Makes `SegmentKV`s, which share the pages that `resident` made; any other is turned for one request.

    A request with few rows reads pages where they lie, its rows together with those of others; one with many
    rows gathers the columns it sees, layer by layer, which is then cheaper than turning every query for every
    page. `query_cost` 0 never gathers, infinity always does.
    """

    def __init__(self, query_cost: float = QUERY_COST) -> None:
        self.query_cost = query_cost

    def __call__(
        self,
        config: ModelConfig,
        tokens: int,
        segments: Sequence[Segment],
        dtype: torch.dtype,
        devices: Devices,
        memory: PrivateMemory | None = None,
    ) -> SegmentKV:
        """See `ragcache.model.attention.Backend`."""
        used = [segment for segment in segments if bool(segment.keep.any())]
        resident = [replace(s, page=self.resident(s.page, config, dtype, devices)) for s in used]
        own = memory or FreshMemory(config, dtype, devices)
        return SegmentKV(config, tokens, resident, devices, own, self.query_cost)

    @staticmethod
    def private_columns(tokens: int, live: int) -> int:
        """See `ragcache.model.attention.Backend`: the live ones."""
        return live

    @staticmethod
    def resident(page: Page, config: ModelConfig, dtype: torch.dtype, devices: Devices) -> Page:
        """See `ragcache.model.attention.Backend`: turned keys, and the page's values if they lie right."""
        if page.turned:
            return page
        here = whole(page, 0)
        turn = here.turn(torch.arange(page.tokens), config)
        like = [torch.empty(0, dtype=dtype, device=device) for device in of_layers(devices, config.layers)]
        keys = tuple(here.turned_keys(n, slice(None), turn, one) for n, one in enumerate(like))
        values = tuple(own.to(one) for own, one in zip(page.values, like, strict=True))
        return replace(page, keys=keys, values=values, turned=True)


class SegmentKV:
    """Private slots for the live positions; frozen columns stay in the shared pages."""

    def __init__(
        self,
        config: ModelConfig,
        tokens: int,
        segments: Sequence[Segment],
        devices: Devices,
        memory: PrivateMemory,
        query_cost: float = QUERY_COST,
    ) -> None:
        self.config, self.segments, self.query_cost = config, segments, query_cost
        self.memory = memory
        self.devices = of_layers(devices, config.layers)
        device = self.devices[0]
        live = torch.ones(tokens, dtype=torch.bool)
        for segment in segments:
            live[segment.positions] = False
        self.slots = torch.where(live, live.cumsum(0) - 1, -1).to(device)
        self.private = live.nonzero().squeeze(-1).to(device)
        self.shown, self.shown_tokens = int(live.sum()), tokens
        self.frozen = tokens - self.shown
        # None: every column of the page is seen
        self.keep = [None if bool(s.keep.all()) else s.keep.to(device) for s in segments]
        self.keys, self.values = memory.take(self.shown)
        self._turned: tuple[Tensor, list[Turn]] | None = None

    def write(self, layer: int, rows: LayerRows) -> None:
        """See `ragcache.model.attention.RequestKV`."""
        slots = self._slots(rows.positions)
        self.keys[layer].index_copy_(1, slots, rows.rotated_k.transpose(0, 1))
        self.values[layer].index_copy_(1, slots, rows.v.transpose(0, 1))

    def reads(self, positions: Tensor) -> Reads:
        """See `ragcache.model.attention.RequestKV`."""
        own = partial(self._private, shown=self.shown)
        places = self.private[: self.shown]
        if self._is_gathering(len(positions)):
            return self._gathered(own, places, positions)
        shared = []
        for segment, turn, keep in zip(self.segments, self._turns(positions), self.keep, strict=True):
            seen = both(self._seen(positions, segment.columns), _on(keep, positions.device))
            shared.append(PageRead(segment.page, segment.offset, turn, seen))
        return Reads(own, places, self._seen(positions, places), tuple(shared))

    def write_values(self, layer: int, positions: Tensor, values: Tensor) -> None:
        """See `ragcache.model.attention.RequestKV`."""
        self.values[layer].index_copy_(1, self._slots(positions), values.transpose(0, 1))

    @property
    def size_bytes(self) -> int:
        """See `ragcache.model.attention.RequestKV`."""
        return sum(layer.nbytes for layer in (*self.keys, *self.values))

    def promote(self, positions: Tensor, depth: int = 0) -> SegmentKV:
        """See `ragcache.model.attention.RequestKV`. Private slots are laid out anew; nothing is kept of them.

        The old ones are let go first, so that a request never holds more than all its positions take.
        """
        left = [segment.without(positions) for segment in self.segments]
        segments = [segment for segment in left if bool(segment.keep.any())]
        self.keys = self.values = ()
        promoted = SegmentKV(
            self.config, len(self.slots), segments, self.devices, self.memory, self.query_cost
        )
        for segment in self.segments if depth else ():
            promoted._copy(segment, positions[torch.isin(positions, segment.positions)], depth)
        return promoted

    def show(self, positions: int) -> None:
        """See `ragcache.model.attention.RequestKV`."""
        self.shown, self.shown_tokens = int((self.slots[:positions] >= 0).sum()), positions

    def _gathered(self, own: Columns, places: Tensor, positions: Tensor) -> Reads:
        """All columns by position."""
        columns = torch.arange(self.shown_tokens, device=positions.device)
        gathered = GatheredColumns(own, places, self.segments, self.shown_tokens, self.config)
        return Reads(gathered, columns, self._seen(positions, columns))

    def _private(self, layer: int, shown: int) -> tuple[Tensor, Tensor]:
        return self.keys[layer][:, :shown], self.values[layer][:, :shown]

    def _is_gathering(self, rows: int) -> bool:
        """Whether turning `rows` for every page costs more than copying and turning the frozen columns."""
        turned = rows * len(self.segments) * self.config.heads
        return turned * self.query_cost > self.frozen * self.config.kv_heads

    def _copy(self, segment: Segment, positions: Tensor, depth: int) -> None:
        """The page's columns at `positions`, below layer `depth`, into private slots."""
        columns = positions - segment.offset
        turn = segment.turn(positions, self.config)
        for layer in range(depth):
            keys, values = self.keys[layer], self.values[layer]
            slots = self._slots(positions.to(keys.device))
            keys.index_copy_(1, slots, segment.turned_keys(layer, columns, turn, keys))
            values.index_copy_(1, slots, segment.page.values[layer][:, columns].to(values))

    def _slots(self, positions: Tensor) -> Tensor:
        return self.slots.to(positions.device)[positions]

    def _seen(self, positions: Tensor, columns: Tensor) -> Tensor | None:
        return visible(positions, columns.to(positions.device), self.config.causal_block)

    def _turns(self, positions: Tensor) -> list[Turn]:
        """For every segment what turns queries at `positions` to its page; mostly as at the last layer."""
        known = self._turned
        if known is None or known[0].device != positions.device or not torch.equal(known[0], positions):
            rates = frequencies(self.config.rotary_dim, self.config.rope_theta, positions.device)
            known = positions, [Turn(positions - segment.offset, rates) for segment in self.segments]
            self._turned = known
        return known[1]


def _on(keep: Tensor | None, device: torch.device) -> Tensor | None:
    return None if keep is None else keep.to(device)
