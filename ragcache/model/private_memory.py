"""Where the private keys and values of one request lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

from ragcache.devices import Devices, of_layers
from ragcache.model.config import ModelConfig

# Keys, then values: a tensor [kv_heads, columns, head_dim] for every layer, on its device.
Columns: TypeAlias = tuple[tuple[Tensor, ...], tuple[Tensor, ...]]


class PrivateMemory(Protocol):
    """The memory of one request, which has one KV at a time."""

    def take(self, columns: int) -> Columns:
        """Zeros for so many columns. Whatever was taken before must not be used any more."""
        ...


@dataclass(frozen=True)
class FreshMemory:
    """Asks torch for every tensor anew."""

    config: ModelConfig
    dtype: torch.dtype
    devices: Devices

    def take(self, columns: int) -> Columns:
        """See `PrivateMemory`."""
        shape = (self.config.kv_heads, columns, self.config.head_dim)
        own = of_layers(self.devices, self.config.layers)
        keys, values = (tuple(torch.zeros(shape, dtype=self.dtype, device=d) for d in own) for _ in range(2))
        return keys, values
