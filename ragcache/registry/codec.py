"""How a page becomes the tensors of a payload file. A codec is a name and two pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from torch import Tensor

from ragcache.errors import ConfigError
from ragcache.page import Page


class Codec(Protocol):
    """Turns pages into named tensors and back; add one by listing it in `CODECS`."""

    @property
    def name(self) -> str:
        """What `AffixKey.codec` says; part of the key, because it shapes the bytes."""
        ...

    def encode(self, page: Page) -> dict[str, Tensor]:
        """CPU tensors, contiguous, layer by layer, so that one layer is one range of the file."""
        ...

    def decode(self, token_ids: Tensor, tensors: Mapping[str, Tensor]) -> Page:
        """The page of `token_ids` `[n]`. Raises KeyError when a tensor is missing."""
        ...


class RawCodec:
    """Keys and values as the model made them: `k.{layer}` and `v.{layer}`, `[kv_heads, n, head_dim]`.

    Hidden states before a layer, where the page has them: `h.{layer}`, `[n, hidden]`.
    """

    name = "raw"

    def encode(self, page: Page) -> dict[str, Tensor]:
        """See `Codec.encode`."""
        tensors: dict[str, Tensor] = {}
        for layer, (key, value) in enumerate(zip(page.keys, page.values, strict=True)):
            tensors[f"k.{layer}"] = key.detach().cpu().contiguous()
            tensors[f"v.{layer}"] = value.detach().cpu().contiguous()
            if layer in page.hidden:
                tensors[f"h.{layer}"] = page.hidden[layer].detach().cpu().contiguous()
        return tensors

    def decode(self, token_ids: Tensor, tensors: Mapping[str, Tensor]) -> Page:
        """See `Codec.decode`; the page shares the tensors' memory."""
        layers = range(sum(name.startswith("k.") for name in tensors))
        return Page(
            token_ids=token_ids,
            keys=tuple(tensors[f"k.{layer}"] for layer in layers),
            values=tuple(tensors[f"v.{layer}"] for layer in layers),
            hidden={layer: tensors[f"h.{layer}"] for layer in layers if f"h.{layer}" in tensors},
        )


CODECS: Mapping[str, Codec] = MappingProxyType({"raw": RawCodec()})


def codec_for(name: str) -> Codec:
    """The codec called `name`. Raises `ConfigError` naming the known ones."""
    if name not in CODECS:
        raise ConfigError(f"unknown codec {name!r}; choose one of: {', '.join(sorted(CODECS))}.")
    return CODECS[name]
