"""Kernels: attention over some of the columns with its log-sum-exp, chosen by device and dtype.

All have one signature: `(q [heads, n, d], keys [kv_heads, m, d], values [kv_heads, m, d], keep) -> Partial`,
with `keep` None, `[m]` or `[n, m]` bool, and do what `plain.attend_columns` says; that one computes anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from ragcache.model.kernels import cpu_flash, plain

Kernel: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor | None], plain.Partial]

# (type of device, dtypes, kernel): the first that fits
KERNELS: tuple[tuple[str, frozenset[torch.dtype], Kernel], ...] = (
    ("cpu", frozenset({torch.bfloat16, torch.float32, torch.float64}), cpu_flash.attend_columns),
)


def kernel_for(device: torch.device, dtype: torch.dtype) -> Kernel:
    """The kernel for tensors of `dtype` on `device`."""
    fitting = (kernel for kind, dtypes, kernel in KERNELS if kind == device.type and dtype in dtypes)
    return next(fitting, plain.attend_columns)
