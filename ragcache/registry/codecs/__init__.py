"""The codecs by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch

from ragcache.errors import ConfigError
from ragcache.registry.codecs.base import Codec
from ragcache.registry.codecs.fp8 import Fp8Codec
from ragcache.registry.codecs.int4 import Int4Codec
from ragcache.registry.codecs.int8 import Int8Codec
from ragcache.registry.codecs.raw import RawCodec

__all__ = ["CODECS", "Codec", "Fp8Codec", "Int4Codec", "Int8Codec", "RawCodec", "codec_for", "dtype_named"]

CODECS: Mapping[str, Codec] = MappingProxyType(
    {codec.name: codec for codec in (RawCodec(), Int8Codec(), Int4Codec(), Fp8Codec())}
)
_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def codec_for(name: str) -> Codec:
    """The codec called `name`. Raises `ConfigError` naming the known ones."""
    if name not in CODECS:
        raise ConfigError(f"unknown codec {name!r}; choose one of: {', '.join(CODECS)}.")
    return CODECS[name]


def dtype_named(name: str) -> torch.dtype:
    """The type of a page's tensors, as `AffixKey.dtype` says. Raises `ConfigError` naming the known ones."""
    if name not in _DTYPES:
        raise ConfigError(f"pages of type {name!r} cannot be stored; choose one of: {', '.join(_DTYPES)}.")
    return _DTYPES[name]
