"""Modules without weights, to be filled from a checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook
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


@contextmanager
def blank_parameters() -> Iterator[None]:
    """As `blank`, but buffers have their values: what no checkpoint holds, RoPE's frequencies for instance.

    A parameter takes memory until its module is told of it, that is for one tensor at a time.
    """
    maker = threading.get_ident()  # torch's hook is one for all threads

    def on_meta(module: nn.Module, name: str, parameter: nn.Parameter | None) -> nn.Parameter | None:
        if parameter is None or threading.get_ident() != maker:
            return None
        return nn.Parameter(parameter.detach().to("meta"), requires_grad=parameter.requires_grad)

    hook = register_module_parameter_registration_hook(on_meta)  # type: ignore[arg-type]
    try:
        with _NoInit():
            yield
    finally:
        hook.remove()
