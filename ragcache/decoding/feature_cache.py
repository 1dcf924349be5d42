"""dLLM-Cache's features: what every layer last added to the canvas rows, and their values."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from ragcache.model.attention import RequestKV
from ragcache.model.path import EveryRow, RowPath, Values

SAME = 1.0 - 1e-5  # cosine from which on two values count as equal


@dataclass
class FeatureCache:
    """Per layer, of one request's canvas rows: values `[c, kv_heads, head_dim]` and residuals `[c, hidden]`.

    A forward writes `new_*`; `settle` makes them valid. So a forward that failed may simply be run again.
    """

    kv: RequestKV
    values: dict[int, Tensor] = field(default_factory=dict)
    residuals: dict[int, Tensor] = field(default_factory=dict)
    new_values: dict[int, Tensor] = field(default_factory=dict)
    new_residuals: dict[int, Tensor] = field(default_factory=dict)

    def settle(self) -> None:
        """The last forward is done."""
        self.values |= self.new_values
        self.residuals |= self.new_residuals

    def recording(self, inner: RowPath | None, first: int) -> RowPath:
        """All rows are computed, on the path `inner`; those from number `first` on are the canvas."""
        return _Recording(self, inner or EveryRow(), first)

    def partial(self, positions: Tensor, count: int) -> RowPath:
        """Canvas rows at `positions` `[c]`: only the `count` least similar ones are computed."""
        return _Partial(self, positions, count)


@dataclass(frozen=True)
class _Recording:
    cache: FeatureCache
    inner: RowPath
    first: int

    def enter(self, layer: int, x: Tensor, values: Values) -> tuple[Tensor, Tensor]:
        """See `RowPath`."""
        x, active = self.inner.enter(layer, x, values)
        self.cache.new_values[layer] = values(x[self.first :])
        return x, active

    def leave(self, layer: int, x: Tensor, computed: Tensor, active: Tensor) -> Tensor:
        """See `RowPath`."""
        after = self.inner.leave(layer, x, computed, active)
        self.cache.new_residuals[layer] = after[self.first :] - x[self.first :]
        return after

    def rows(self, count: int, layers: int) -> float:
        """See `RowPath`."""
        return self.inner.rows(count, layers)


@dataclass(frozen=True)
class _Partial:
    cache: FeatureCache
    positions: Tensor
    count: int

    def enter(self, layer: int, x: Tensor, values: Values) -> tuple[Tensor, Tensor]:
        """See `RowPath`. All values are replaced; they are cheap and show which rows changed."""
        now = values(x)
        then = self.cache.values[layer]
        likeness = F.cosine_similarity(now.flatten(1).float(), then.flatten(1).float(), dim=-1)
        likeness = likeness.clamp(max=SAME)  # rounding must not choose among rows that did not change
        self.cache.kv.write_values(layer, self.positions.to(x.device), now)
        self.cache.new_values[layer] = now
        return x, likeness.sort(stable=True).indices[: self.count].sort().values

    def leave(self, layer: int, x: Tensor, computed: Tensor, active: Tensor) -> Tensor:
        """See `RowPath`. The other rows get what the layer last added to them."""
        residual = self.cache.residuals[layer].index_copy(0, active, computed - x[active])
        self.cache.new_residuals[layer] = residual
        return torch.index_copy(x + residual, 0, active, computed)

    def rows(self, count: int, layers: int) -> float:
        """See `RowPath`."""
        return min(self.count, count)
