"""Eight bits a value in floating point."""

from __future__ import annotations

import torch

from ragcache.registry.codecs.scaled import ScaledCodec


class Fp8Codec(ScaledCodec):
    """As large as int8 and several times less exact; for devices that compute with float8_e4m3fn.

    Micikevicius et al., FP8 formats for deep learning (arXiv 2209.05433): 448 is the greatest number.
    """

    name = "fp8"
    codes = torch.float8_e4m3fn
    largest = 448.0
