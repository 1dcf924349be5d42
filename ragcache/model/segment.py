"""A segment: a shared read-only page placed at an offset of one request's prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from ragcache.model.config import ModelConfig
from ragcache.model.rope import column_angles, rotate
from ragcache.page import Page


@dataclass(frozen=True)
class Segment:
    """Token `i` of `page` stands at position `offset + i`; only columns in `keep` are seen.

    `keep` is `[n]` bool. False where the request computes the position itself: anchors, and edge tokens that
    differ in this context. `offset` may be negative when the first tokens are such edges. `before` are the
    ids that stood before the page's own when it was encoded; None where something else shaped its rows too.
    """

    page: Page
    offset: int
    keep: Tensor
    before: tuple[int, ...] | None = None

    @property
    def positions(self) -> Tensor:
        """Positions `[kept]` of the columns served from the page."""
        return self.keep.nonzero().squeeze(-1) + self.offset

    @cached_property
    def kept(self) -> slice | Tensor:
        """Index of the columns that are seen: a slice, read without a copy, where they are one run."""
        index = self.keep.nonzero().squeeze(-1)
        if len(index) and int(index[-1]) - int(index[0]) + 1 == len(index):
            return slice(int(index[0]), int(index[-1]) + 1)
        return index

    @property
    def columns(self) -> Tensor:
        """Positions `[n]` of all the page's columns, seen or not."""
        return torch.arange(self.offset, self.offset + self.page.tokens)

    def turn(self, positions: Tensor, config: ModelConfig) -> tuple[Tensor, Tensor]:
        """The rotation that the page's keys at `positions` `[m]` still lack: `[1, m or 1, rotary_dim]`.

        Keys of a turned page all lack the same: what lies between their index and their position.
        """
        lacking = positions.new_tensor([self.offset]) if self.page.turned else positions
        return column_angles(lacking, config.rotary_dim, config.rope_theta)

    def turned_keys(
        self, layer: int, columns: slice | Tensor, turn: tuple[Tensor, Tensor], like: Tensor
    ) -> Tensor:
        """The page's keys `[kv_heads, m, head_dim]` of its `columns`, rotated by their `turn`.

        On the device and in the dtype of `like`.
        """
        keys = self.page.keys[layer][:, on_device(columns, self.page.keys[layer].device)].to(like)
        cos, sin = (part.to(like.device) for part in turn)
        return rotate(keys, cos, sin)

    def without(self, positions: Tensor) -> Segment:
        """The same segment with the columns at `positions` masked out (they became anchors)."""
        stale = positions - self.offset
        stale = stale[(stale >= 0) & (stale < self.page.tokens)]
        keep = self.keep.clone()
        keep[stale] = False
        return replace(self, keep=keep)


def on_device(index: slice | Tensor, device: torch.device) -> slice | Tensor:
    """An index as tensors on `device` take it."""
    return index if isinstance(index, slice) else index.to(device)


def shifted(index: slice | Tensor, by: int) -> slice | Tensor:
    """The index of what stands `by` further on."""
    return slice(index.start + by, index.stop + by) if isinstance(index, slice) else index + by


def whole(page: Page, offset: int) -> Segment:
    """The full page at `offset`, encoded alone."""
    return Segment(page, offset, torch.ones(page.tokens, dtype=torch.bool), before=())
