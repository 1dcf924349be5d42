"""Which kernel computes on a device and in a dtype."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Protocol

import torch
from torch import Tensor

from ragcache.model.kernels import cpu_flash, flex, plain, triton_segment
from ragcache.model.rope import Turn


class Kernel(Protocol):
    """What `plain.attend` is."""

    def __call__(
        self, q: Tensor, keys: Tensor, values: Tensor, keep: Tensor | None = None, turn: Turn | None = None
    ) -> plain.Partial:
        """See `plain.attend`."""
        ...


# (type of device, dtypes, kernel): the first that fits
KERNELS: tuple[tuple[str, frozenset[torch.dtype], Kernel], ...] = (
    ("cpu", frozenset({torch.bfloat16, torch.float32, torch.float64}), cpu_flash.attend),
    (
        "cuda",
        frozenset({torch.bfloat16, torch.float16, torch.float32}),
        triton_segment.attend if find_spec("triton") else flex.attend,
    ),
)


def kernel_for(device: torch.device, dtype: torch.dtype) -> Kernel:
    """The kernel for tensors of `dtype` on `device`."""
    fitting = (kernel for kind, dtypes, kernel in KERNELS if kind == device.type and dtype in dtypes)
    return next(fitting, plain.attend)


def turns_ahead(device: torch.device) -> bool:
    """Whether queries are turned for all pages in one go, before kernels read them, not by the kernels.

    On the CPU every operation costs more than what it does to a few rows.
    """
    return device.type == "cpu"
