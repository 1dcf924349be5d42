"""Row paths: at which layers the rows of one request are computed, and what the others carry on.

Depth reuse lets affix rows enter late, a check forward stops early, a feature cache skips rows that hardly
changed. Each is one small class; the forward stays one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

# hidden states [n, hidden] -> values [n, kv_heads, head_dim] of the layer at hand
Values = Callable[[Tensor], Tensor]


class RowPath(Protocol):
    """The way of one request's rows `[n]` through the layers."""

    def enter(self, layer: int, x: Tensor, values: Values) -> tuple[Tensor, Tensor]:
        """Hidden states `[n, hidden]` before the layer, perhaps changed, and the rows `[a]` to compute."""
        ...

    def leave(self, layer: int, x: Tensor, computed: Tensor, active: Tensor) -> Tensor:
        """Hidden states `[n, hidden]` after the layer, given those `[a, hidden]` that were computed."""
        ...

    def rows(self, count: int, layers: int) -> float:
        """What a forward of `count` rows costs on this path, in rows through all `layers`."""
        ...


class EveryRow:
    """All rows, at every layer: the base of other paths."""

    def enter(self, layer: int, x: Tensor, values: Values) -> tuple[Tensor, Tensor]:
        """See `RowPath`."""
        return x, torch.arange(len(x), device=x.device)

    def leave(self, layer: int, x: Tensor, computed: Tensor, active: Tensor) -> Tensor:
        """See `RowPath`: rows that were not computed stay as they are."""
        return computed if len(active) == len(x) else x.index_copy(0, active, computed)

    def rows(self, count: int, layers: int) -> float:
        """See `RowPath`."""
        return count


@dataclass(frozen=True)
class LateRows(EveryRow):
    """`late` `[m]` (indices of rows) skip the layers below `depth` and enter there as `hidden` `[m, hidden]`.

    Source: BiCache's splice (arXiv 2606.07571). Below `depth` their keys and values are those of the page.
    """

    depth: int
    late: Tensor
    hidden: Tensor

    def enter(self, layer: int, x: Tensor, values: Values) -> tuple[Tensor, Tensor]:
        """See `RowPath`."""
        if layer < self.depth:
            early = torch.ones(len(x), dtype=torch.bool, device=x.device)
            early[self.late.to(x.device)] = False
            return x, early.nonzero().squeeze(-1)
        if layer == self.depth:
            x = x.index_copy(0, self.late.to(x.device), self.hidden.to(x.device, x.dtype))
        return super().enter(layer, x, values)

    def rows(self, count: int, layers: int) -> float:
        """See `RowPath`."""
        return count - len(self.late) * min(self.depth, layers) / layers


@dataclass(frozen=True)
class FirstLayers(EveryRow):
    """Only the first `stop` layers are computed: a check that looks at early keys and values."""

    stop: int

    def enter(self, layer: int, x: Tensor, values: Values) -> tuple[Tensor, Tensor]:
        """See `RowPath`."""
        return x, torch.arange(len(x) if layer < self.stop else 0, device=x.device)

    def rows(self, count: int, layers: int) -> float:
        """See `RowPath`."""
        return count * min(self.stop, layers) / layers
