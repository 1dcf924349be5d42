"""Where a model is computed, and in what dtype."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TypeAlias

import torch
import torch.nn.functional as F

from ragcache.errors import ConfigError
from ragcache.model.checkpoint import Checkpoint
from ragcache.threads import in_own_thread

DTYPES: Mapping[str, torch.dtype | None] = MappingProxyType(
    {
        "auto": None,
        "bf16": torch.bfloat16,
        "fp16": torch.float16,
        "fp32": torch.float32,
        "int8": torch.int8,  # the weights alone; computed in as with auto
    }
)
Device: TypeAlias = str | Mapping[int, str]
CHEAP_BYTES = 2**30  # a model of up to this size is computed in fp32 on the CPU, which is faster there


def pick_device(device: str) -> torch.device:
    """`auto` is CUDA where there is one; `ConfigError` when the device is unknown or absent."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ConfigError(f"unknown device {device!r}; use auto, cpu or cuda") from None
    if chosen.type not in ("cpu", "cuda"):
        raise ConfigError(f"device {device!r} is not supported; use auto, cpu or cuda")
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        seen = torch.cuda.device_count() or "no"
        raise ConfigError(f"device {device!r}: this torch sees {seen} CUDA device; use --device cpu")
    return chosen


def pick_devices(device: Device, layers: int) -> tuple[torch.device, ...]:
    """The device of each of a model's `layers`.

    `device` is one (see `pick_device`), several separated by commas, over which the layers are spread
    evenly and in order, or a map that names one for every layer. Raises `ConfigError`.
    """
    if isinstance(device, str):
        chosen = [pick_device(name.strip()) for name in device.split(",")]
        if len(chosen) > layers:
            raise ConfigError(f"device {device!r}: {len(chosen)} devices for {layers} layers; name fewer")
        return tuple(chosen[layer * len(chosen) // layers] for layer in range(layers))
    if set(device) != set(range(layers)):
        raise ConfigError(
            f"a device map must name the layers 0 to {layers - 1}, each once; not {list(device)}"
        )
    return tuple(pick_device(device[layer]) for layer in range(layers))


def parse_dtype(text: str) -> torch.dtype | None:
    """The dtype called `text`; None for `auto`. Raises `ConfigError`."""
    if text not in DTYPES:
        raise ConfigError(f"unknown dtype {text!r}; use {', '.join(DTYPES)}")
    return DTYPES[text]


def pick_dtype(asked: torch.dtype | None, checkpoint: Checkpoint, device: torch.device) -> torch.dtype:
    """What to compute in: what was `asked` for, else what the weights are stored in, where that is sensible.

    Raises `ConfigError` for a dtype that the device cannot compute in.
    """
    if asked is not None:
        if not computes_in(asked, device):
            raise ConfigError(f"{device} cannot compute in {name_of(asked)}; use --dtype fp32")
        return asked
    if device.type == "cpu" and checkpoint.size_bytes(torch.float32) <= CHEAP_BYTES:
        return torch.float32
    wished = (checkpoint.dtype, torch.float16 if device.type == "cuda" else torch.float32)
    return next((dtype for dtype in wished if computes_in(dtype, device)), torch.float32)


def pick_precision(
    asked: torch.dtype | None, checkpoint: Checkpoint, devices: Collection[torch.device]
) -> tuple[torch.dtype, bool]:
    """What to compute in on all `devices` (see `pick_dtype`), and whether the weights are int8."""
    int8 = asked == torch.int8
    wished = {pick_dtype(None if int8 else asked, checkpoint, device) for device in set(devices)}
    chosen = wished.pop() if len(wished) == 1 else torch.float32
    # products with codes are scaled only once they are summed, which is too much for fp16
    return torch.float32 if int8 and chosen == torch.float16 else chosen, int8


def computes_in(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether the device has the operations of a forward in `dtype`, and does not merely imitate them."""
    if device.type == "cuda" and dtype == torch.bfloat16:
        return torch.cuda.get_device_capability(device)[0] >= 8
    try:
        in_own_thread(lambda: _try_out(dtype, device))
    except (RuntimeError, NotImplementedError):
        return False
    return True


def _try_out(dtype: torch.dtype, device: torch.device) -> None:
    x = torch.ones(1, 1, 8, 8, dtype=dtype, device=device)
    F.scaled_dot_product_attention(x, x, x)
    F.silu(F.linear(F.rms_norm(x, (8,)), x[0, 0]))


def name_of(dtype: torch.dtype) -> str:
    """A dtype as the command line calls it."""
    return next((name for name, known in DTYPES.items() if known == dtype), str(dtype))
