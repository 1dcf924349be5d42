"""What quantising codecs share: the range of values that share a scale, and codes times a scale."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragcache.registry.codecs.base import Codec, Layout

SMALLEST = torch.finfo(torch.float32).tiny


def value_range(tensor: Tensor, axis: int, group: int) -> tuple[Tensor, Tensor]:
    """Least and greatest of every `group` neighbours along `axis`, which is as long as there are groups.

    The last group may be smaller. float32.
    """
    length = tensor.shape[axis]
    whole = -(-length // group) * group
    if whole != length:  # repeating the last value changes no range
        index = torch.arange(whole, device=tensor.device).clamp(max=length - 1)
        tensor = tensor.index_select(axis, index)
    least, greatest = torch.unflatten(tensor, axis, (-1, group)).aminmax(dim=axis)
    return least.float(), greatest.float()


def resized(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    """`shape` with another length along `axis`."""
    changed = list(shape)
    changed[axis] = length
    return tuple(changed)


class ScaledCodec(Codec):
    """Codes of type `codes` in -`largest`..`largest`, times one float32 scale for all values along the axis.

    Symmetric quantisation (Jacob et al., arXiv 1712.05877).
    """

    suffixes = ("", ".scale")
    codes: torch.dtype
    largest: float

    def layout(self, shape: tuple[int, ...], axis: int, dtype: torch.dtype) -> Layout:
        """See `Codec.layout`."""
        return (self.codes, shape), (torch.float32, resized(shape, axis, 1))

    def pack(self, tensor: Tensor, axis: int) -> tuple[Tensor, ...]:
        """See `Codec.pack`."""
        least, greatest = value_range(tensor, axis, tensor.shape[axis])
        scale = (torch.maximum(-least, greatest) / self.largest).clamp(min=SMALLEST)
        scaled = tensor.float() / scale
        return (scaled if self.codes.is_floating_point else scaled.round()).to(self.codes), scale

    def unpack(self, stored: Sequence[Tensor], axis: int, dtype: torch.dtype) -> Tensor:
        """See `Codec.unpack`."""
        codes, scale = stored
        return codes.float().mul_(scale).to(dtype)
