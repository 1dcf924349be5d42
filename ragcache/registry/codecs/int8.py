"""Eight bits a value."""

from __future__ import annotations

import torch

from ragcache.registry.codecs.scaled import ScaledCodec


class Int8Codec(ScaledCodec):
    """Half the bytes of bfloat16; a value is off by at most half a scale."""

    name = "int8"
    codes = torch.int8
    largest = 127.0
