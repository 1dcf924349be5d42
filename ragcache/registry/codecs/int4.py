"""Four bits a value, two values a byte."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragcache.errors import RegistryError
from ragcache.registry.codecs.base import Codec, Layout
from ragcache.registry.codecs.scaled import SMALLEST, resized, value_range

GROUP = 32
LARGEST = 15
_SCALES = torch.bfloat16  # a sixteenth of the codes' error, and half the bytes of float32


class Int4Codec(Codec):
    """Each `GROUP` of neighbours along the axis has a scale and a least value: five bits a value in all.

    Asymmetric, because keys before RoPE have channels far from zero (KIVI, arXiv 2402.02750). The first of
    two neighbouring channels is in the low half of the byte.
    """

    name = "int4"
    suffixes = ("", ".scale", ".least")
    values_per_code = 2

    def layout(self, shape: tuple[int, ...], axis: int, dtype: torch.dtype) -> Layout:
        """See `Codec.layout`."""
        groups = (_SCALES, resized(shape, axis, -(-shape[axis] // GROUP)))
        return (torch.uint8, (*shape[:-1], shape[-1] // 2)), groups, groups

    def pack(self, tensor: Tensor, axis: int) -> tuple[Tensor, ...]:
        """See `Codec.pack`. Raises `RegistryError` for an odd number of channels."""
        if tensor.shape[-1] % 2:
            raise RegistryError(f"codec int4 stores pairs of channels, not {tensor.shape[-1]}; use int8.")
        least, greatest = value_range(tensor, axis, GROUP)
        scale = ((greatest - least) / LARGEST).clamp(min=SMALLEST).to(_SCALES)
        least = least.to(_SCALES)  # codes are made with what is stored
        low, step = (_spread(part, axis, tensor.shape[axis]) for part in (least, scale))
        codes = ((tensor.float() - low) / step).round().clamp(0, LARGEST).to(torch.uint8)
        return codes[..., 0::2] | codes[..., 1::2] << 4, scale, least

    def unpack(self, stored: Sequence[Tensor], axis: int, dtype: torch.dtype) -> Tensor:
        """See `Codec.unpack`."""
        pairs, scale, least = stored
        codes = torch.stack((pairs & LARGEST, pairs >> 4), dim=-1).flatten(-2).float()
        low, step = (_spread(part, axis, codes.shape[axis]) for part in (least, scale))
        return codes.mul_(step).add_(low).to(dtype)


def _spread(parts: Tensor, axis: int, length: int) -> Tensor:
    """One value for every element instead of every group, float32."""
    return parts.float().repeat_interleave(GROUP, dim=axis).narrow(axis, 0, length)
