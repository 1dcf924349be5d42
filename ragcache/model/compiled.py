"""Layers compiled by torch.compile: norms, RoPE, SwiGLU and residuals in fewer passes over the rows.

Attention has kernels of its own, and a mixture of experts chooses by data: both stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from ragcache.errors import MissingDependencyError
from ragcache.model.layers import DenseLayer, Layer
from ragcache.model.rope import angles
from ragcache.model.transformer import MaskPredictor
from ragcache.threads import in_own_thread

# Rows of the forward that compiles; any other number takes the same code. A prime, which is no size of a
# model: sizes that are equal while it compiles are taken to be always so.
_TRIED = 37


class CompiledRows:
    """A function of rows, compiled once for any number of them; `eager` where there is one.

    torch.compile makes code of its own for a single row, or for other strides, and would do so in the middle
    of serving.
    """

    def __init__(self, eager: Callable[..., Any]) -> None:
        self.eager, self.compiled = eager, torch.compile(eager, dynamic=True)

    def __call__(self, *inputs: Tensor) -> Any:
        """Of inputs `[n, ...]`."""
        if len(inputs[0]) == 1:
            return self.eager(*inputs)
        return self.compiled(*(given.contiguous() for given in inputs))


def compile_layers(predictor: MaskPredictor) -> None:
    """Compile the layers of `predictor` in place, now: seconds, once a process. Twice is once.

    Results differ by rounding. Raises `MissingDependencyError` where there is no compiler, and leaves the
    layers as they were: a C++ compiler for the CPU, Triton for CUDA.
    """
    if is_compiled(predictor):
        return
    made = [
        {name: CompiledRows(getattr(module, name)) for name in _stages(module)} for module in predictor.layers
    ]
    try:
        in_own_thread(lambda: _try(predictor, made))
    except Exception as error:  # the compilers' own errors have no type in common
        raise MissingDependencyError(
            f"torch.compile failed: {str(error).splitlines()[0]}. It needs a C++ compiler (apt install g++), "
            "and Triton on a GPU; without them, do not ask for compiled layers"
        ) from error
    for module, stages in zip(predictor.layers, made, strict=True):  # another engine may be using them
        for name, stage in stages.items():
            setattr(module, name, stage)


def is_compiled(predictor: MaskPredictor) -> bool:
    """Whether `compile_layers` was here."""
    return any(isinstance(module.heads_of, CompiledRows) for module in predictor.layers)


def _stages(layer: nn.Module) -> tuple[str, ...]:
    """The layer's functions that are compiled."""
    return ("heads_of", "mix") if isinstance(layer, DenseLayer) else ("heads_of",)


def _try(predictor: MaskPredictor, made: Sequence[Mapping[str, CompiledRows]]) -> None:
    """One forward of a few rows through every layer, without attention, which compiles them."""
    config = predictor.config
    with torch.inference_mode():
        positions = torch.arange(_TRIED, device=predictor.device)
        x = predictor.embed(positions)
        cos, sin = angles(positions, config.rotary_dim, config.rope_theta)
        for module, stages, device in zip(predictor.layers, made, predictor.devices, strict=True):
            x, cos, sin = (t.to(device) for t in (x, cos, sin))
            rotated_q = stages["heads_of"](x, cos, sin)[3]
            x = stages.get("mix", cast(Layer, module).mix)(x, rotated_q)
