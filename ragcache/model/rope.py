"""Rotary position embedding, rotate-half style (Su et al., arXiv 2104.09864), in fp32."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


def frequencies(rotary_dim: int, theta: float, device: torch.device) -> Tensor:
    """Radians a position of every pair of elements: fp32 `[rotary_dim / 2]`."""
    exponent = torch.arange(0, rotary_dim, 2, device=device, dtype=torch.float32) / rotary_dim
    return 1.0 / (theta**exponent)


def angles(positions: Tensor, rotary_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines for `positions` `[n]` (may be negative): two fp32 tensors `[n, 1, rotary_dim]`.

    Computed from the position itself every time, so rotations are never chained.
    """
    return _angles(positions, frequencies(rotary_dim, theta, positions.device))


def _angles(positions: Tensor, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    phase = positions.to(torch.float32)[:, None] * frequencies
    phase = torch.cat((phase, phase), dim=-1)[:, None, :]
    return phase.cos(), phase.sin()


def column_angles(positions: Tensor, rotary_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """`angles` for columns: `[1, n, rotary_dim]`, to turn keys `[kv_heads, n, head_dim]`."""
    cos, sin = angles(positions, rotary_dim, theta)
    return cos.transpose(0, 1), sin.transpose(0, 1)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate `x` `[n, heads, head_dim]`; trigonometry in fp32, result in the dtype of `x`.

    With angles for fewer elements than a head has, the others stay as they are (partial rotary).
    """
    halves = (half.to(x.dtype) for half in _halves(x, cos, sin))
    return torch.cat((*halves, x[..., cos.shape[-1] :]), dim=-1)


def rotate_into(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Write `rotate(x, cos, sin)` to `out`, which may be part of a larger tensor."""
    half = cos.shape[-1] // 2
    out[..., :half], out[..., half : 2 * half] = _halves(x, cos, sin)
    if out.shape[-1] > 2 * half:
        out[..., 2 * half :] = x[..., 2 * half :]


def _halves(x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Both halves of the rotated elements, fp32: each is turned with the other, as they lie."""
    half = cos.shape[-1] // 2
    cos, sin = cos[..., :half], sin[..., :half]
    wide = x[..., : 2 * half].to(torch.float32)
    a, b = wide[..., :half], wide[..., half:]
    return (a * cos).addcmul_(b, sin, value=-1), (b * cos).addcmul_(a, sin)


@dataclass(frozen=True, eq=False)
class Turn:
    """What attention has yet to do to its queries: row i is rotated by `distances[i]` positions.

    `distances` `[n]` int64, `frequencies` as from `frequencies`. A kernel that turns rows as it reads them
    writes no rotated copy.
    """

    distances: Tensor
    frequencies: Tensor

    @cached_property
    def angles(self) -> tuple[Tensor, Tensor]:
        """Cosines and sines `[1, n, rotary_dim]`, computed once for all layers."""
        cos, sin = _angles(self.distances, self.frequencies)
        return cos.transpose(0, 1), sin.transpose(0, 1)

    def take(self, index: Tensor) -> Turn:
        """Of the rows that `index` picks."""
        return Turn(self.distances[index], self.frequencies)

    def rotate(self, q: Tensor) -> Tensor:
        """A rotated copy of `q` `[heads, n, head_dim]`."""
        return rotate(q, *self.angles)
