"""What a request attends to, and the backend that gathers everything into one buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from ragcache.devices import Devices
from ragcache.model.config import ModelConfig
from ragcache.model.private_memory import FreshMemory, PrivateMemory
from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows
from ragcache.model.segment import Segment
from ragcache.model.visibility import visible
from ragcache.page import Page


class RequestKV(Protocol):
    """The keys and values that one request attends to: private ones and frozen segments.

    Two backends give the same result. `GatherKV` assembles one buffer per request, keys rotated once:
    fastest for a single request. `SegmentKV` reads shared pages where they lie: one copy for many requests.
    """

    @property
    def size_bytes(self) -> int:
        """Bytes of the private keys and values."""
        ...

    def write(self, layer: int, rows: LayerRows) -> None:
        """Write the rows' K/V into the private buffer."""
        ...

    def reads(self, positions: Tensor) -> Reads:
        """What rows at `positions` `[n]` attend to, at every layer on the device of `positions`."""
        ...

    def write_values(self, layer: int, positions: Tensor, values: Tensor) -> None:
        """Replace the values `[n, kv_heads, head_dim]` of live positions, their keys as they are."""
        ...

    def promote(self, positions: Tensor, depth: int = 0) -> RequestKV:
        """The KV in which the frozen columns at `positions` are live: the next refresh writes them.

        It takes the place of this one, which lets go of its memory. Below layer `depth` nobody writes them,
        and what the page holds is still seen.
        """
        ...

    def show(self, positions: int) -> None:
        """From now on only the first `positions` positions are seen; at first all are."""
        ...


class Backend(Protocol):
    """How KV is held: called, it makes the KV of one request."""

    def __call__(
        self,
        config: ModelConfig,
        tokens: int,
        segments: Sequence[Segment],
        dtype: torch.dtype,
        devices: Devices,
        memory: PrivateMemory | None = None,
    ) -> RequestKV:
        """The KV of `tokens` positions, with its private columns in `memory` (None: in memory of its own)."""
        ...

    def private_columns(self, tokens: int, live: int) -> int:
        """How many private columns a request has that computes `live` of its `tokens` positions."""
        ...

    def resident(self, page: Page, config: ModelConfig, dtype: torch.dtype, devices: Devices) -> Page:
        """`page` as requests are to share it, in place of the page itself and of the same size."""
        ...


class GatherKV:
    """One buffer over all positions: frozen columns are copied in once, live ones are written in place.

    Each layer's part lies on the device of that layer. The class is the `Backend` that makes it.
    """

    def __init__(
        self,
        config: ModelConfig,
        tokens: int,
        segments: Sequence[Segment],
        dtype: torch.dtype,
        devices: Devices,
        memory: PrivateMemory | None = None,
    ) -> None:
        self.keys, self.values = (memory or FreshMemory(config, dtype, devices)).take(tokens)
        self.shown, self.causal_block = tokens, config.causal_block
        self.columns = torch.arange(tokens, device=self.keys[0].device)
        for segment in segments:
            turn = segment.run_turn(config)
            for layer, (keys, values) in enumerate(zip(self.keys, self.values, strict=True)):
                segment.place(layer, keys, values, turn)

    @staticmethod
    def private_columns(tokens: int, live: int) -> int:
        """See `Backend`: all are."""
        return tokens

    @staticmethod
    def resident(page: Page, config: ModelConfig, dtype: torch.dtype, devices: Devices) -> Page:
        """See `Backend`: pages are copied from as they are."""
        return page

    @property
    def size_bytes(self) -> int:
        """See `RequestKV`."""
        return sum(layer.nbytes for layer in (*self.keys, *self.values))

    def promote(self, positions: Tensor, depth: int = 0) -> RequestKV:
        """See `RequestKV`. Nothing to do: live columns are written in place."""
        return self

    def show(self, positions: int) -> None:
        """See `RequestKV`."""
        self.shown = positions

    def write_values(self, layer: int, positions: Tensor, values: Tensor) -> None:
        """See `RequestKV`."""
        self.values[layer].index_copy_(1, positions, values.transpose(0, 1))

    def write(self, layer: int, rows: LayerRows) -> None:
        """See `RequestKV`."""
        self.keys[layer].index_copy_(1, rows.positions, rows.rotated_k.transpose(0, 1))
        self.values[layer].index_copy_(1, rows.positions, rows.v.transpose(0, 1))

    def reads(self, positions: Tensor) -> Reads:
        """See `RequestKV`: all its columns are its own."""
        shown = self.shown
        columns = self.columns[:shown].to(positions.device)
        seen = visible(positions, columns, self.causal_block)
        return Reads(
            lambda layer: (self.keys[layer][:, :shown], self.values[layer][:, :shown]), columns, seen
        )


def attend_all(q: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None) -> Tensor:
    """Attention `[heads, n, head_dim]` over all the columns that the rows have (`seen` `[n, m]`: of these).

    `q` is `[heads, n, head_dim]`, `keys` and `values` are `[kv_heads, m, head_dim]`.
    """
    grouped = q.shape[0] != keys.shape[0]
    mixed = F.scaled_dot_product_attention(
        q[None], keys[None], values[None], attn_mask=seen, enable_gqa=grouped
    )
    return mixed[0]
