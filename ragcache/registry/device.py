"""The fastest tier: keys and values of pages on the model's device."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ragcache.byte_count import ByteCount
from ragcache.devices import Devices, of_layers
from ragcache.page import Page
from ragcache.registry.key import AffixKey


@dataclass
class _Resident:
    page: Page
    users: int = 0


class Stay:
    """Pages that are kept on the device until `release`."""

    def __init__(self, tier: DeviceTier, pages: Mapping[AffixKey, Page]) -> None:
        self.pages = pages
        self._tier = tier
        self._released = False

    def release(self) -> None:
        """Let the pages go when their room is needed; may be called again."""
        if not self._released:
            self._released = True
            self._tier.drop_users(self.pages)


class DeviceTier(ByteCount):
    """LRU with an exact byte budget; pages that requests use are not dropped. Thread-safe.

    Token ids and hidden states stay on the host, where plans are made. Its size is that of keys and values.
    `made` is what a page on the device is kept as, of the same size.
    """

    def __init__(
        self, devices: Devices, budget_bytes: int, made: Callable[[Page], Page] = lambda page: page
    ) -> None:
        super().__init__()
        self._made = made
        self._devices, self._budget_bytes = devices, budget_bytes
        self._lock = threading.Lock()
        self._pages: OrderedDict[AffixKey, _Resident] = OrderedDict()

    def take(self, pages: Mapping[AffixKey, Page]) -> Stay | None:
        """All of `pages` on the device, copied there if need be; None when they do not all fit.

        All or none, so that all pages of one request lie beside their layers.
        """
        with self._lock:
            missing = [key for key in pages if key not in self._pages]
            needed = sum(_bytes(pages[key]) for key in missing)
            if not self._make_room(needed, keep=pages):
                return None
            for key in missing:
                self._pages[key] = _Resident(self._made(to_device(pages[key], self._devices)))
            self.add(needed)
            for key in pages:
                self._pages[key].users += 1
                self._pages.move_to_end(key)
            return Stay(self, {key: self._pages[key].page for key in pages})

    def drop_users(self, keys: Mapping[AffixKey, Page]) -> None:
        """One user fewer for each; called by `Stay.release`."""
        with self._lock:
            for key in keys:
                self._pages[key].users -= 1

    def _make_room(self, needed: int, keep: Mapping[AffixKey, Page]) -> bool:
        excess = self._size_bytes + needed - self._budget_bytes
        victims = []
        for key, resident in self._pages.items():
            if excess <= 0:
                break
            if resident.users == 0 and key not in keep:
                victims.append(key)
                excess -= _bytes(resident.page)
        if excess > 0:
            return False
        for key in victims:
            self.add(-_bytes(self._pages.pop(key).page))
        return True


def to_device(page: Page, devices: Devices) -> Page:
    """A copy of `page` whose keys and values lie on the devices of their layers.

    For CUDA each layer goes by way of pinned memory without waiting, so that layer i + 1 is read from the
    disk while layer i is on its way.
    """
    layers = zip(page.keys, page.values, of_layers(devices, len(page.keys)), strict=True)
    pairs = [(_copy(key, device), _copy(value, device)) for key, value, device in layers]
    return replace(page, keys=tuple(key for key, _ in pairs), values=tuple(value for _, value in pairs))


def _copy(tensor: Tensor, device: torch.device) -> Tensor:
    if device.type == "cuda" and tensor.device.type == "cpu":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def _bytes(page: Page) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in (*page.keys, *page.values))
