"""Attention that reads shared pages where they lie, and merges partial results by log-sum-exp.

A page's keys are turned once by their index inside the affix; a query at position p is turned by p - offset
for a segment at `offset`. RoPE scores depend on distances alone, so one resident copy serves every request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ragcache.devices import Devices, of_layers
from ragcache.model.attention import by_group, empty_layers, scores
from ragcache.model.config import ModelConfig
from ragcache.model.rope import angles, rotate
from ragcache.model.rows import LayerRows
from ragcache.model.segment import Segment
from ragcache.model.visibility import both, hide, visible
from ragcache.page import Page


@dataclass(frozen=True)
class Partial:
    """Attention over some of the columns: `out` `[heads, n, head_dim]` and `lse` `[heads, n]`, fp32."""

    out: Tensor
    lse: Tensor


def attend_columns(q: Tensor, keys: Tensor, values: Tensor, keep: Tensor | None = None) -> Partial:
    """Softmax attention of `q` `[heads, n, head_dim]` over `keys`/`values` `[kv_heads, m, head_dim]`.

    Columns where `keep` (`[m]`, or `[n, m]`) is False are not seen. Without any column: `lse` is -inf and
    `out` is 0, so that the part weighs nothing in a merge.
    """
    weights = hide(scores(q, keys), keep)
    lse = torch.logsumexp(weights, dim=-1)
    weights = (weights - lse.masked_fill(lse.isinf(), 0.0)[..., None]).exp()
    out = (by_group(weights.to(values.dtype), values.shape[0]) @ values).to(torch.float32)
    return Partial(out.reshape(q.shape), lse)


def merge(parts: Sequence[Partial]) -> Tensor:
    """One attention output `[heads, n, head_dim]` from partial ones, weighted by their share of the mass."""
    lse = torch.stack([part.lse for part in parts])
    weights = torch.softmax(lse, dim=0)
    out = torch.stack([part.out for part in parts])
    return (weights[..., None] * out).sum(dim=0)


@dataclass(frozen=True)
class ResidentPage:
    """A page as attention reads it: per layer keys turned by their index, and values, on its device."""

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]


class SegmentBackend:
    """Makes `SegmentKV`s that share one resident copy of each page, for as long as the page is in use."""

    def __init__(self) -> None:
        self._resident: WeakKeyDictionary[Page, ResidentPage] = WeakKeyDictionary()

    def __call__(
        self,
        config: ModelConfig,
        tokens: int,
        segments: Sequence[Segment],
        dtype: torch.dtype,
        devices: Devices,
    ) -> SegmentKV:
        """See `ragcache.model.attention.Backend`."""
        used = [segment for segment in segments if bool(segment.keep.any())]
        pages = [self.resident(segment.page, config, dtype, devices) for segment in used]
        return SegmentKV(config, tokens, list(zip(used, pages, strict=True)), dtype, devices)

    def resident(self, page: Page, config: ModelConfig, dtype: torch.dtype, devices: Devices) -> ResidentPage:
        """The one resident copy of `page`."""
        if page not in self._resident:
            own = of_layers(devices, config.layers)
            turns = angles(torch.arange(page.tokens, device=own[0]), config.rotary_dim, config.rope_theta)
            cos, sin = (turn.transpose(0, 1) for turn in turns)
            keys, values = zip(page.keys, own, strict=True), zip(page.values, own, strict=True)
            self._resident[page] = ResidentPage(
                tuple(rotate(k.to(d), cos.to(d), sin.to(d)).to(dtype) for k, d in keys),
                tuple(v.to(d, dtype) for v, d in values),
            )
        return self._resident[page]


class SegmentKV:
    """Private slots for the live positions; frozen columns stay in the shared pages."""

    def __init__(
        self,
        config: ModelConfig,
        tokens: int,
        segments: Sequence[tuple[Segment, ResidentPage]],
        dtype: torch.dtype,
        devices: Devices,
    ) -> None:
        self.config, self.segments, self.devices = config, segments, of_layers(devices, config.layers)
        device = self.devices[0]
        live = torch.ones(tokens, dtype=torch.bool)
        for segment, _ in segments:
            live[segment.positions] = False
        self.slots = torch.where(live, live.cumsum(0) - 1, -1).to(device)
        self.private = live.nonzero().squeeze(-1).to(device)
        self.shown = int(live.sum())
        self.keep = [segment.keep.to(device) for segment, _ in segments]
        self.columns = [s.offset + torch.arange(s.page.tokens, device=device) for s, _ in segments]
        self.keys = empty_layers(config, self.shown, dtype, devices)
        self.values = empty_layers(config, self.shown, dtype, devices)
        self._turned = torch.empty(0, dtype=torch.int64, device=device)
        self._turns: list[tuple[Tensor, Tensor]] = []

    def attend(self, layer: int, rows: LayerRows) -> Tensor:
        """See `ragcache.model.attention.RequestKV`."""
        if layer == 0 or not _same(rows.positions, self._turned):  # rows may differ between layers
            self._turned, self._turns = rows.positions, self._relative_angles(rows.positions)
        slots = self._slots(rows.positions)
        self.keys[layer].index_copy_(1, slots, rows.rotated_k.transpose(0, 1))
        self.values[layer].index_copy_(1, slots, rows.v.transpose(0, 1))
        keys, values = self.keys[layer][:, : self.shown], self.values[layer][:, : self.shown]
        seen = self._seen(rows, self.private[: self.shown])
        parts = [attend_columns(rows.rotated_q.transpose(0, 1), keys, values, seen)]
        placed = zip(self.segments, self._turns, self.keep, self.columns, strict=True)
        for (_, page), turn, keep, columns in placed:
            q = rotate(rows.q, *turn).transpose(0, 1)
            kept = both(self._seen(rows, columns), keep.to(q.device))
            parts.append(attend_columns(q, page.keys[layer], page.values[layer], kept))
        return merge(parts).to(rows.v.dtype).transpose(0, 1)

    def scores(self, layer: int, rows: LayerRows) -> Tensor:
        """See `ragcache.model.attention.RequestKV`."""
        out = rows.q.new_empty((rows.q.shape[1], len(rows.q), len(self.slots)), dtype=torch.float32)
        out[:, :, self.private.to(out.device)] = scores(rows.rotated_q.transpose(0, 1), self.keys[layer])
        turns = self._relative_angles(rows.positions)
        for (segment, page), turn, keep in zip(self.segments, turns, self.keep, strict=True):
            q = rotate(rows.q, *turn).transpose(0, 1)
            out[:, :, segment.positions.to(out.device)] = scores(q, page.keys[layer][:, keep.to(q.device)])
        return hide(out, self._seen(rows, torch.arange(len(self.slots), device=out.device)))

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
        left = [(segment.without(positions), page) for segment, page in self.segments]
        segments = [(segment, page) for segment, page in left if bool(segment.keep.any())]
        dtype = self.keys[0].dtype
        self.keys = self.values = ()
        promoted = SegmentKV(self.config, len(self.slots), segments, dtype, self.devices)
        for segment, _ in self.segments if depth else ():
            promoted._copy(segment, positions[torch.isin(positions, segment.positions)], depth)
        return promoted

    def show(self, positions: int) -> None:
        """See `ragcache.model.attention.RequestKV`."""
        self.shown = int((self.slots[:positions] >= 0).sum())

    def _copy(self, segment: Segment, positions: Tensor, depth: int) -> None:
        """The page's columns at `positions`, below layer `depth`, into private slots."""
        columns = positions - segment.offset
        for layer in range(depth):
            own, places = self.keys[layer], positions.to(self.devices[layer])
            turns = angles(places, self.config.rotary_dim, self.config.rope_theta)
            cos, sin = (turn.transpose(0, 1) for turn in turns)
            keys, values = segment.page.keys[layer][:, columns], segment.page.values[layer][:, columns]
            own.index_copy_(1, self._slots(places), rotate(keys.to(own.device), cos, sin).to(own.dtype))
            self.values[layer].index_copy_(1, self._slots(places), values.to(own))

    def _slots(self, positions: Tensor) -> Tensor:
        return self.slots.to(positions.device)[positions]

    def _seen(self, rows: LayerRows, columns: Tensor) -> Tensor | None:
        return visible(rows.positions, columns.to(rows.positions.device), self.config.causal_block)

    def _relative_angles(self, positions: Tensor) -> list[tuple[Tensor, Tensor]]:
        config = self.config
        return [
            angles(positions - segment.offset, config.rotary_dim, config.rope_theta)
            for segment, _ in self.segments
        ]


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether both hold the same, on the same device."""
    return one.device == other.device and torch.equal(one, other)
