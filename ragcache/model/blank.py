"""Modules without weights, to be filled from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _NoInit(TorchFunctionMode):
    """Leaves out what `torch.nn.init` would do."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


@contextmanager
def blank() -> Iterator[None]:
    """Modules made inside have meta tensors that nobody initialised; load with `assign=True`.

    The meta device alone is not enough: on it the first random initialisation imports torch's compiler,
    which takes more than a second.
    """
    with torch.device("meta"), _NoInit():
        yield
