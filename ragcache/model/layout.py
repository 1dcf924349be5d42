"""Which tensors a model has, before any is read: names, shapes, bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import torch

from ragcache.model.blank import blank
from ragcache.model.config import ModelConfig
from ragcache.model.families import tensor_names
from ragcache.model.int8 import CODE_BYTES, is_coded
from ragcache.model.layers import kept_in_fp32
from ragcache.model.supported import FAMILIES
from ragcache.model.transformer import MaskPredictor
from ragcache.model.upstream import network_tensors

Layout: TypeAlias = tuple[dict[str, torch.Size], dict[str, tuple[str, ...]], dict[str, str]]


def layout(config: ModelConfig) -> Layout:
    """Shapes of all parameters, which of them each checkpoint tensor holds, and what tied ones repeat."""
    if config.canvas is not None:
        shapes, tied = network_tensors(config)
        return shapes, {name: (name,) for name in shapes}, tied
    shapes = {name: parameter.shape for name, parameter in blank_model(config).named_parameters()}
    return shapes, tensor_names(FAMILIES[config.family], shapes), {}


def size_bytes(shapes: Mapping[str, torch.Size], dtype: torch.dtype, *, int8: bool = False) -> int:
    """Bytes of the parameters with these `shapes` in a model of `dtype`, perhaps with int8 weights."""

    def size(name: str, shape: torch.Size) -> int:
        if int8 and is_coded(name, shape):
            return shape.numel() * CODE_BYTES + shape[0] * dtype.itemsize  # codes and scales
        return shape.numel() * (torch.float32 if kept_in_fp32(name) else dtype).itemsize

    return sum(size(name, shape) for name, shape in shapes.items())


def blank_model(config: ModelConfig) -> MaskPredictor:
    """The network without weights."""
    with blank():
        return MaskPredictor(config)
