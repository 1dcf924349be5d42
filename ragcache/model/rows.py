"""What one forward computes: a ragged batch of rows, and the query/key/value of one layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """A ragged batch: only the rows to compute, request after request.

    `token_ids` and `positions` are `[n]` int64; request `r` owns rows `boundaries[r]:boundaries[r + 1]`.
    """

    token_ids: Tensor
    positions: Tensor
    boundaries: tuple[int, ...]

    @classmethod
    def single(cls, token_ids: Tensor, positions: Tensor) -> Rows:
        """The rows of one request."""
        return cls(token_ids, positions, (0, int(token_ids.shape[0])))

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Rows:
        """One batch of several; requests keep their order."""
        boundaries = [0]
        for part in parts:
            start = boundaries[-1]
            boundaries.extend(start + stop for stop in part.boundaries[1:])
        token_ids = torch.cat([part.token_ids for part in parts])
        return cls(token_ids, torch.cat([part.positions for part in parts]), tuple(boundaries))

    def to(self, device: torch.device) -> Rows:
        """The same rows on `device`."""
        return replace(self, token_ids=self.token_ids.to(device), positions=self.positions.to(device))

    def spans(self) -> Iterator[tuple[int, int]]:
        """`(start, stop)` of every request."""
        return zip(self.boundaries, self.boundaries[1:], strict=False)


@dataclass(frozen=True)
class LayerRows:
    """One request's queries, keys and values at one layer, before and after RoPE.

    `q` and `rotated_q` are `[n, heads, head_dim]`; `k`, `rotated_k` and `v` are `[n, kv_heads, head_dim]`;
    `positions` is `[n]`. `q` and `k` are before RoPE.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    rotated_q: Tensor
    rotated_k: Tensor
    positions: Tensor

    def take(self, index: slice | Tensor) -> LayerRows:
        """The rows that `index` picks."""
        return LayerRows(*(t[index] for t in vars(self).values()))
