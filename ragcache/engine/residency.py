"""The pages of running requests: one copy of each, on the model's device where there is room."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace

import torch

from ragcache.byte_count import ByteCount
from ragcache.devices import Devices
from ragcache.engine.pages import Resolved
from ragcache.page import Page
from ragcache.registry import AffixKey
from ragcache.registry.device import DeviceTier


class SharedPages(ByteCount):
    """One copy of a page for all requests that use it now, by reference count. Thread-safe.

    Whoever comes later gets the copy of the first, however its own was made: equal keys mean equal pages.
    `made` is what a page is kept as. Its size counts each page once, and is 0 when nothing runs.
    """

    def __init__(self, made: Callable[[Page], Page]) -> None:
        super().__init__()
        self._made = made
        self._lock = threading.Lock()
        self._pages: dict[AffixKey, Page] = {}
        self._users: Counter[AffixKey] = Counter()

    def take(self, pages: Mapping[AffixKey, Page]) -> dict[AffixKey, Page]:
        """The copies to use, until `drop`."""
        with self._lock:
            added = {key: self._made(page) for key, page in pages.items() if key not in self._pages}
            self._users.update(pages.keys())
            self._pages.update(added)
            self.add(sum(page.size_bytes for page in added.values()))
            return {key: self._pages[key] for key in pages}

    def drop(self, keys: Collection[AffixKey]) -> None:
        """One user fewer for each; nobody's page is forgotten."""
        with self._lock:
            self._users.subtract(dict.fromkeys(keys, 1))
            for key in keys:
                if not self._users[key]:
                    self.add(-self._pages.pop(key).size_bytes)
                    del self._users[key]


class Residency:
    """Puts pages beside their layers for as long as a request runs, and keeps them there while there is room.

    Pages on the CPU, for a budget of 0 bytes, or that do not fit the device, are kept while they are used.
    What is kept of a page, and counted, is what the backend makes of it (`made`).
    """

    def __init__(
        self, devices: Devices, budget_bytes: int, made: Callable[[Page], Page] = lambda page: page
    ) -> None:
        own = (devices,) if isinstance(devices, torch.device) else devices
        useful = any(device.type != "cpu" for device in own) and budget_bytes > 0
        self.tier = DeviceTier(devices, budget_bytes, made) if useful else None
        self.shared = SharedPages(made)

    @property
    def peak_bytes(self) -> int:
        """The most that pages in use took at a time; on a device, with those kept for later."""
        return self.shared.peak_bytes + (self.tier.peak_bytes if self.tier is not None else 0)

    def place(self, resolved: Resolved, held: ExitStack) -> Resolved:
        """`resolved` with its pages where they are to be read, until `held` is closed."""
        started = time.perf_counter()
        own = {one.key: one.page for one in resolved.pages.values()}
        placed = self._take(own, held)
        if all(placed[key] is page for key, page in own.items()):
            return resolved
        pages = {ids: replace(one, page=placed[one.key]) for ids, one in resolved.pages.items()}
        return replace(resolved, pages=pages, load_s=resolved.load_s + time.perf_counter() - started)

    def _take(self, own: Mapping[AffixKey, Page], held: ExitStack) -> Mapping[AffixKey, Page]:
        stay = self.tier.take(own) if self.tier is not None and own else None
        if stay is not None:
            held.callback(stay.release)
            return stay.pages
        shared = self.shared.take(own)
        held.callback(self.shared.drop, list(own))
        return shared
