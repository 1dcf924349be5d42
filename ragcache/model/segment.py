"""A segment: a shared read-only page placed at an offset of one request's prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from ragcache.model.config import ModelConfig
from ragcache.model.rope import column_angles, rotate, rotate_into
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
    def run(self) -> slice:
        """The page's columns from the first that is seen to the last, those between them too."""
        index = self.keep.nonzero().squeeze(-1)
        return slice(int(index[0]), int(index[-1]) + 1) if len(index) else slice(0, 0)

    @property
    def there(self) -> slice:
        """Positions of its `run`."""
        return slice(self.run.start + self.offset, self.run.stop + self.offset)

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

    def run_turn(self, config: ModelConfig) -> tuple[Tensor, Tensor]:
        """`turn` of the positions of its run."""
        return self.turn(torch.arange(self.there.start, self.there.stop), config)

    def turned_keys(
        self, layer: int, columns: slice | Tensor, turn: tuple[Tensor, Tensor], like: Tensor
    ) -> Tensor:
        """The page's keys `[kv_heads, m, head_dim]` of its `columns`, rotated by their `turn`.

        On the device and in the dtype of `like`.
        """
        return rotate(*self._unturned(layer, columns, turn, like))

    def place(self, layer: int, keys: Tensor, values: Tensor, turn: tuple[Tensor, Tensor]) -> None:
        """Write its `run` into `keys` and `values` `[kv_heads, positions, head_dim]`, where it stands.

        `turn` is its `run_turn`. Columns of the run that are not seen are written too: whoever computes them
        writes over them.
        """
        there = self.there
        rotate_into(keys[:, there], *self._unturned(layer, self.run, turn, keys))
        values[:, there] = self.page.values[layer][:, self.run]

    def _unturned(
        self, layer: int, columns: slice | Tensor, turn: tuple[Tensor, Tensor], like: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The page's keys of its `columns` as `like` is, and cosines and sines beside them."""
        cos, sin = turn
        return self.page.keys[layer][:, columns].to(like), cos.to(like.device), sin.to(like.device)

    def without(self, positions: Tensor) -> Segment:
        """The same segment with the columns at `positions` masked out (they became anchors)."""
        stale = positions - self.offset
        stale = stale[(stale >= 0) & (stale < self.page.tokens)]
        keep = self.keep.clone()
        keep[stale] = False
        return replace(self, keep=keep)


def whole(page: Page, offset: int) -> Segment:
    """The full page at `offset`, encoded alone."""
    return Segment(page, offset, torch.ones(page.tokens, dtype=torch.bool), before=())
