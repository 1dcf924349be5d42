"""The pages of running requests, on the model's device."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import replace

import torch

from ragcache.devices import Devices
from ragcache.engine.pages import Resolved
from ragcache.engine.request import Completion
from ragcache.registry.device import DeviceTier


class Residency:
    """Puts pages beside their layers for as long as a request runs, and keeps them there while there is room.

    Without effect on the CPU, where pages are already, and for a budget of 0 bytes.
    """

    def __init__(self, devices: Devices, budget_bytes: int) -> None:
        own = (devices,) if isinstance(devices, torch.device) else devices
        useful = any(device.type != "cpu" for device in own) and budget_bytes > 0
        self.tier = DeviceTier(devices, budget_bytes) if useful else None

    def place(self, resolved: Resolved, future: Future[Completion]) -> Resolved:
        """`resolved` with its pages on the device, if they fit there, until `future` is done."""
        if self.tier is None or not resolved.pages:
            return resolved
        started = time.perf_counter()
        stay = self.tier.take({own.key: own.page for own in resolved.pages.values()})
        if stay is None:
            return resolved
        release = stay.release
        future.add_done_callback(lambda _: release())
        pages = {ids: replace(own, page=stay.pages[own.key]) for ids, own in resolved.pages.items()}
        load_s = resolved.load_s + time.perf_counter() - started
        return replace(resolved, pages=pages, load_s=load_s)
