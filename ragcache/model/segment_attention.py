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

from ragcache.model.attention import by_group, scores
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
    """A page as attention reads it: per layer keys turned by their index, and values, on the device."""

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
        device: torch.device,
    ) -> SegmentKV:
        """See `ragcache.model.attention.Backend`."""
        used = [segment for segment in segments if bool(segment.keep.any())]
        pages = [self.resident(segment.page, config, dtype, device) for segment in used]
        return SegmentKV(config, tokens, list(zip(used, pages, strict=True)), dtype, device)

    def resident(
        self, page: Page, config: ModelConfig, dtype: torch.dtype, device: torch.device
    ) -> ResidentPage:
        """The one resident copy of `page`."""
        if page not in self._resident:
            cos, sin = angles(torch.arange(page.tokens, device=device), config.rotary_dim, config.rope_theta)
            cos, sin = cos.transpose(0, 1), sin.transpose(0, 1)
            self._resident[page] = ResidentPage(
                tuple(rotate(k.to(device), cos, sin).to(dtype) for k in page.keys),
                tuple(v.to(device, dtype) for v in page.values),
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
        device: torch.device,
    ) -> None:
        self.config = config
        self.segments = segments
        live = torch.ones(tokens, dtype=torch.bool)
        for segment, _ in segments:
            live[segment.positions] = False
        self.slots = torch.where(live, live.cumsum(0) - 1, -1).to(device)
        self.private = live.nonzero().squeeze(-1).to(device)
        self.shown = int(live.sum())
        self.keep = [segment.keep.to(device) for segment, _ in segments]
        self.columns = [s.offset + torch.arange(s.page.tokens, device=device) for s, _ in segments]
        shape = (config.layers, config.kv_heads, int(live.sum()), config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self._turned = torch.empty(0, dtype=torch.int64, device=device)
        self._turns: list[tuple[Tensor, Tensor]] = []

    def attend(self, layer: int, rows: LayerRows) -> Tensor:
        """See `ragcache.model.attention.RequestKV`."""
        if layer == 0 or not torch.equal(rows.positions, self._turned):  # rows may differ between layers
            self._turned, self._turns = rows.positions, self._relative_angles(rows.positions)
        slots = self.slots[rows.positions]
        self.keys[layer].index_copy_(1, slots, rows.rotated_k.transpose(0, 1))
        self.values[layer].index_copy_(1, slots, rows.v.transpose(0, 1))
        keys, values = self.keys[layer][:, : self.shown], self.values[layer][:, : self.shown]
        seen = self._seen(rows, self.private[: self.shown])
        parts = [attend_columns(rows.rotated_q.transpose(0, 1), keys, values, seen)]
        placed = zip(self.segments, self._turns, self.keep, self.columns, strict=True)
        for (_, page), turn, keep, columns in placed:
            q = rotate(rows.q, *turn).transpose(0, 1)
            kept = both(self._seen(rows, columns), keep)
            parts.append(attend_columns(q, page.keys[layer], page.values[layer], kept))
        return merge(parts).to(rows.v.dtype).transpose(0, 1)

    def scores(self, layer: int, rows: LayerRows) -> Tensor:
        """See `ragcache.model.attention.RequestKV`."""
        out = rows.q.new_empty((rows.q.shape[1], len(rows.q), len(self.slots)), dtype=torch.float32)
        out[:, :, self.slots >= 0] = scores(rows.rotated_q.transpose(0, 1), self.keys[layer])
        turns = self._relative_angles(rows.positions)
        for (segment, page), turn, keep in zip(self.segments, turns, self.keep, strict=True):
            q = rotate(rows.q, *turn).transpose(0, 1)
            out[:, :, segment.positions.to(out.device)] = scores(q, page.keys[layer][:, keep])
        return hide(out, self._seen(rows, torch.arange(len(self.slots), device=out.device)))

    def write_values(self, layer: int, positions: Tensor, values: Tensor) -> None:
        """See `ragcache.model.attention.RequestKV`."""
        self.values[layer].index_copy_(1, self.slots[positions], values.transpose(0, 1))

    @property
    def size_bytes(self) -> int:
        """See `ragcache.model.attention.RequestKV`."""
        return self.keys.nbytes + self.values.nbytes

    def promote(self, positions: Tensor, depth: int = 0) -> SegmentKV:
        """See `ragcache.model.attention.RequestKV`. Private slots are laid out anew; nothing is kept of them.

        The old ones are let go first, so that a request never holds more than all its positions take.
        """
        left = [(segment.without(positions), page) for segment, page in self.segments]
        segments = [(segment, page) for segment, page in left if bool(segment.keep.any())]
        dtype, device = self.keys.dtype, self.keys.device
        self.keys = self.values = self.keys.new_empty(0)
        promoted = SegmentKV(self.config, len(self.slots), segments, dtype, device)
        for segment, _ in self.segments if depth else ():
            promoted._copy(segment, positions[torch.isin(positions, segment.positions)], depth)
        return promoted

    def show(self, positions: int) -> None:
        """See `ragcache.model.attention.RequestKV`."""
        self.shown = int((self.slots[:positions] >= 0).sum())

    def _copy(self, segment: Segment, positions: Tensor, depth: int) -> None:
        """The page's columns at `positions`, below layer `depth`, into private slots."""
        device, dtype = self.keys.device, self.keys.dtype
        columns, slots = positions - segment.offset, self.slots[positions.to(device)]
        cos, sin = angles(positions.to(device), self.config.rotary_dim, self.config.rope_theta)
        cos, sin = cos.transpose(0, 1), sin.transpose(0, 1)
        for layer in range(depth):
            keys, values = segment.page.keys[layer][:, columns], segment.page.values[layer][:, columns]
            self.keys[layer].index_copy_(1, slots, rotate(keys.to(device), cos, sin).to(dtype))
            self.values[layer].index_copy_(1, slots, values.to(device, dtype))

    def _seen(self, rows: LayerRows, columns: Tensor) -> Tensor | None:
        return visible(rows.positions, columns, self.config.causal_block)

    def _relative_angles(self, positions: Tensor) -> list[tuple[Tensor, Tensor]]:
        config = self.config
        return [
            angles(positions - segment.offset, config.rotary_dim, config.rope_theta)
            for segment, _ in self.segments
        ]
