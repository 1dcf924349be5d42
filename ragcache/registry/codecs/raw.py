"""Pages as the model made them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragcache.page import Page
from ragcache.registry.codecs.base import Codec, Layout


class RawCodec(Codec):
    """Nothing is changed: a page from a file shares the file's memory."""

    name = "raw"

    def layout(self, shape: tuple[int, ...], axis: int, dtype: torch.dtype) -> Layout:
        """See `Codec.layout`."""
        return ((dtype, shape),)

    def pack(self, tensor: Tensor, axis: int) -> tuple[Tensor, ...]:
        """See `Codec.pack`."""
        return (tensor,)

    def unpack(self, stored: Sequence[Tensor], axis: int, dtype: torch.dtype) -> Tensor:
        """See `Codec.unpack`."""
        return stored[0]

    def round_trip(self, page: Page) -> Page:
        """`page` itself."""
        return page
