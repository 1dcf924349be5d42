"""Where the layers of a model lie: on one device, or each on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch

# one device for all layers, or one for each
Devices: TypeAlias = torch.device | Sequence[torch.device]


def of_layers(devices: Devices, layers: int) -> tuple[torch.device, ...]:
    """The device of each of the first `layers` layers."""
    if isinstance(devices, torch.device):
        return (devices,) * layers
    return tuple(devices[:layers])
