"""Weight-only int8 by torchao: a layer's matrices as codes, with one scale for every output channel.

LLM.int8 (arXiv 2208.07339) for the scheme; the embedding, the head, norms, biases and routers stay as they
are. What is computed, and so KV, keeps its dtype.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ragcache.errors import MissingDependencyError
from ragcache.model.layers import kept_in_fp32

CODE_BYTES = 1


def is_coded(name: str, shape: torch.Size) -> bool:
    """Whether the parameter `name` of `shape` becomes codes."""
    return name.startswith("layers.") and len(shape) == 2 and not kept_in_fp32(name)


def coder() -> Callable[[Tensor], Tensor]:
    """What makes codes of a weight `[out, in]`: a tensor of the same shape that `linear` takes.

    Raises `MissingDependencyError` without torchao.
    """
    try:
        from torchao.quantization import Int8Tensor, PerRow
    except ImportError as error:
        raise MissingDependencyError(
            "int8 weights need torchao. Run: pip install 'ragcache-dllm[int8]'"
        ) from error

    def code(weight: Tensor) -> Tensor:
        coded: Tensor = Int8Tensor.from_hp(weight, granularity=PerRow())
        return coded

    return code
