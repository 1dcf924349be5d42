"""How a page becomes the tensors of a payload file, and what of it all codecs share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod

import torch
from torch import Tensor

from ragcache.errors import RegistryError, StoreDamagedError
from ragcache.page import Page

Layout = tuple[tuple[torch.dtype, tuple[int, ...]], ...]

# Kinds of tensors: their dimensions, and the axis along which values share a scale. Keys differ most between
# channels, and tokens share a channel's scale; values and hidden states differ most between tokens (KIVI,
# arXiv 2402.02750).
_DIMENSIONS = {"k": 3, "v": 3, "h": 2}
_AXES = {"k": -2, "v": -1, "h": -1}


class Codec(ABC):
    """A name and what becomes of one tensor; add a codec by listing it in `CODECS`.

    A payload holds `k.{layer}` and `v.{layer}`, `[kv_heads, n, head_dim]`, and where the page has hidden
    states before a layer `h.{layer}`, `[n, hidden]`: each a tensor of codes followed by one tensor for each
    further suffix (`k.0.scale`). Keys are coded as they are kept, before RoPE.
    """

    name: str
    """What `AffixKey.codec` says; part of the key, because it shapes the bytes."""
    suffixes: tuple[str, ...] = ("",)
    """One for each tensor that `pack` gives, the codes first."""
    values_per_code: int = 1
    """Neighbours in the last dimension that one element of the codes holds."""

    @abstractmethod
    def layout(self, shape: tuple[int, ...], axis: int, dtype: torch.dtype) -> Layout:
        """Type and shape of what `pack` gives for a tensor of `shape` and `dtype`."""

    @abstractmethod
    def pack(self, tensor: Tensor, axis: int) -> tuple[Tensor, ...]:
        """The tensors to store; along `axis` values share a scale. Raises `RegistryError`."""

    @abstractmethod
    def unpack(self, stored: Sequence[Tensor], axis: int, dtype: torch.dtype) -> Tensor:
        """The inverse of `pack`, but for rounding; what is `stored` has the `layout`."""

    def encode(self, page: Page) -> dict[str, Tensor]:
        """CPU tensors, contiguous, layer by layer, so that one layer is one range of the file.

        Raises `RegistryError` for values that the codec cannot hold.
        """
        tensors: dict[str, Tensor] = {}
        for name, tensor in _tensors_of(page).items():
            packed = self.pack(tensor.detach(), _AXES[name[0]])
            if not _finite(packed[1:]):
                raise RegistryError(f"{name} has infinite values or NaN; codec {self.name} cannot hold them.")
            tensors |= {
                name + suffix: part.cpu().contiguous()
                for suffix, part in zip(self.suffixes, packed, strict=True)
            }
        return tensors

    def decode(self, token_ids: Tensor, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> Page:
        """The page of `token_ids` `[n]` with tensors of `dtype`, one tensor at a time.

        Raises `StoreDamagedError` for anything that `encode` would not have written.
        """
        layers = sum(f"v.{layer}" in tensors for layer in range(len(tensors)))
        names = [
            name for layer in range(layers) for name in _names(layer) if name[0] != "h" or name in tensors
        ]
        wanted = {name + suffix for name in names for suffix in self.suffixes}
        if wanted != tensors.keys():
            odd = ", ".join(sorted(wanted ^ tensors.keys()))
            raise StoreDamagedError(f"tensors missing, or none of codec {self.name}'s: {odd}.")
        found = {name: self._tensor(name, tensors, dtype) for name in names}
        return Page(
            token_ids=token_ids,
            keys=tuple(found[f"k.{layer}"] for layer in range(layers)),
            values=tuple(found[f"v.{layer}"] for layer in range(layers)),
            hidden={layer: found[f"h.{layer}"] for layer in range(layers) if f"h.{layer}" in found},
        )

    def round_trip(self, page: Page) -> Page:
        """`page` as a store gives it back. Raises as `encode`."""
        return self.decode(page.token_ids, self.encode(page), page.keys[0].dtype)

    def stored_bytes(self, page: Page) -> int:
        """Bytes of the tensors that `encode` gives for `page`, found without encoding it."""
        return sum(
            dtype.itemsize * prod(shape)
            for name, tensor in _tensors_of(page).items()
            for dtype, shape in self.layout(tuple(tensor.shape), _AXES[name[0]], tensor.dtype)
        )

    def _tensor(self, name: str, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> Tensor:
        stored = [tensors[name + suffix] for suffix in self.suffixes]
        shape, axis = tuple(stored[0].shape), _AXES[name[0]]
        if len(shape) != _DIMENSIONS[name[0]]:
            raise StoreDamagedError(f"{name} has {len(shape)} dimensions, not {_DIMENSIONS[name[0]]}.")
        wanted = self.layout((*shape[:-1], shape[-1] * self.values_per_code), axis, dtype)
        found = tuple((part.dtype, tuple(part.shape)) for part in stored)
        if found != wanted:
            raise StoreDamagedError(f"{name} is stored as {found}, codec {self.name} writes {wanted}.")
        if not _finite(stored[1:]):
            raise StoreDamagedError(f"{name} has a scale that is not finite.")
        return self.unpack(stored, axis, dtype)


def _names(layer: int) -> tuple[str, ...]:
    return f"k.{layer}", f"v.{layer}", f"h.{layer}"


def _tensors_of(page: Page) -> dict[str, Tensor]:
    """The page's tensors by name, in the order of the file."""
    found: dict[str, Tensor] = {}
    for layer, (key, value) in enumerate(zip(page.keys, page.values, strict=True)):
        tensors = (key, value, page.hidden.get(layer))
        found |= {name: t for name, t in zip(_names(layer), tensors, strict=True) if t is not None}
    return found


def _finite(scales: Sequence[Tensor]) -> bool:
    return all(bool(scale.isfinite().all()) for scale in scales)
