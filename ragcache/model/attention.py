"""What a request attends to, and the backend that gathers everything into one buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from ragcache.model.config import ModelConfig
from ragcache.model.rope import angles, rotate
from ragcache.model.rows import LayerRows
from ragcache.model.segment import Segment
from ragcache.page import Page


class RequestKV(Protocol):
    """The keys and values that one request attends to: private ones and frozen segments.

    Two backends give the same result. `GatherKV` assembles one buffer per request, keys rotated once:
    fastest for a single request. `SegmentKV` reads shared pages where they lie: one copy for many requests.
    """

    def attend(self, layer: int, rows: LayerRows) -> Tensor:
        """Write the rows' K/V into the private buffer, then attend; `[n, heads, head_dim]`."""
        ...

    def frozen_scores(self, layer: int, rows: LayerRows) -> Tensor:
        """Scaled fp32 scores `[heads, n, frozen]` of the rows over the frozen columns, by position."""
        ...

    def promote(self, positions: Tensor) -> RequestKV:
        """The KV in which the frozen columns at `positions` are live: the next refresh writes them."""
        ...


# (config, positions in all, segments, dtype, device) -> the KV of one request
Backend = Callable[[ModelConfig, int, Sequence[Segment], torch.dtype, torch.device], RequestKV]


class GatherKV:
    """One buffer over all positions: frozen columns are copied in once, live ones are written in place."""

    def __init__(
        self,
        config: ModelConfig,
        tokens: int,
        segments: Sequence[Segment],
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        shape = (config.layers, config.kv_heads, tokens, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.frozen = torch.cat([s.positions for s in segments]) if segments else torch.empty(0).long()
        for segment in segments:
            self._place(segment, config)

    def _place(self, segment: Segment, config: ModelConfig) -> None:
        """Copy one run of columns, anchors inside it too: a refresh writes them before any reading."""
        positions = segment.positions
        if not len(positions):
            return
        start, stop = int(positions[0]), int(positions[-1]) + 1
        first, last = start - segment.offset, stop - segment.offset
        device, dtype = self.keys.device, self.keys.dtype
        cos, sin = angles(torch.arange(start, stop, device=device), config.head_dim, config.rope_theta)
        cos, sin = cos.transpose(0, 1), sin.transpose(0, 1)
        for layer, (keys, values) in enumerate(zip(segment.page.keys, segment.page.values, strict=True)):
            turned = rotate(keys[:, first:last].to(device, dtype), cos, sin)
            self.keys[layer, :, start:stop] = turned
            self.values[layer, :, start:stop] = values[:, first:last]

    def promote(self, positions: Tensor) -> RequestKV:
        """See `RequestKV`. Live columns are written in place, so only the list of frozen ones changes."""
        self.frozen = self.frozen[~torch.isin(self.frozen, positions)]
        return self

    def frozen_scores(self, layer: int, rows: LayerRows) -> Tensor:
        """See `RequestKV`."""
        return scores(rows.rotated_q.transpose(0, 1), self.keys[layer][:, self.frozen])

    def attend(self, layer: int, rows: LayerRows) -> Tensor:
        """See `RequestKV`."""
        keys, values = self.keys[layer], self.values[layer]
        keys.index_copy_(1, rows.positions, rows.rotated_k.transpose(0, 1))
        values.index_copy_(1, rows.positions, rows.v.transpose(0, 1))
        q = rows.rotated_q.transpose(0, 1)
        mixed = F.scaled_dot_product_attention(
            q[None], keys[None], values[None], enable_gqa=q.shape[0] != keys.shape[0]
        )
        return mixed[0].transpose(0, 1)


def scores(q: Tensor, keys: Tensor) -> Tensor:
    """Scaled fp32 scores `[heads, n, m]` of `q` `[heads, n, dim]` over `keys` `[kv_heads, m, dim]`."""
    flat = by_group(q, keys.shape[0]) @ keys.transpose(-1, -2)
    scale: float = q.shape[-1] ** -0.5
    return (flat.to(torch.float32) * scale).reshape(*q.shape[:2], keys.shape[1])


def by_group(x: Tensor, kv_heads: int) -> Tensor:
    """`x` `[heads, n, m]` as `[kv_heads, heads / kv_heads * n, m]`: the rows of each KV head together."""
    heads, n, m = x.shape
    return x.reshape(kv_heads, heads // kv_heads * n, m)


class PageRecorder:
    """Keeps a copy of every layer's K (before RoPE) and V while an affix is encoded."""

    def __init__(self, inner: RequestKV) -> None:
        self.inner = inner
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def attend(self, layer: int, rows: LayerRows) -> Tensor:
        """See `RequestKV`."""
        for kept, rows_of in ((self.keys, rows.k), (self.values, rows.v)):
            kept.append(rows_of.transpose(0, 1).clone(memory_format=torch.contiguous_format))
        return self.inner.attend(layer, rows)

    def frozen_scores(self, layer: int, rows: LayerRows) -> Tensor:
        """See `RequestKV`."""
        return self.inner.frozen_scores(layer, rows)

    def promote(self, positions: Tensor) -> RequestKV:
        """See `RequestKV`."""
        return PageRecorder(self.inner.promote(positions))

    def page(self, token_ids: Tensor) -> Page:
        """The page of the tokens `[n]` just encoded, on the CPU."""
        keys = tuple(k.detach().cpu() for k in self.keys)
        values = tuple(v.detach().cpu() for v in self.values)
        return Page(token_ids.cpu(), keys, values)


class Observer(Protocol):
    """Looks at the rows of one request, layer by layer, while a forward runs."""

    def observe(self, layer: int, rows: LayerRows, kv: RequestKV) -> None:
        """Called after the layer's K/V of the request were written."""
        ...


class RaggedKV:
    """The attention of a batch: one `RequestKV` per request, and who looks on."""

    def __init__(
        self, requests: Sequence[RequestKV], observers: Sequence[Observer | None] | None = None
    ) -> None:
        self.requests = requests
        self.observers = observers or [None] * len(requests)

    def attend(self, layer: int, rows: LayerRows, boundaries: tuple[int, ...]) -> Tensor:
        """See `ragcache.model.transformer.Attention`."""
        mixed = []
        for index, (start, stop) in enumerate(pairwise(boundaries)):
            own = rows.take(slice(start, stop))
            mixed.append(self.requests[index].attend(layer, own))
            observer = self.observers[index]
            if observer is not None:
                observer.observe(layer, own, self.requests[index])
        return torch.cat(mixed) if len(mixed) > 1 else mixed[0]
