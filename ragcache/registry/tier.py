"""Tiers of pages, and the fastest one: opened pages in this process's memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol

from ragcache.page import Page
from ragcache.registry.key import AffixKey


class Tier(Protocol):
    """A place a page may be found in; the registry asks from the fastest to the slowest."""

    def get(self, key: AffixKey) -> tuple[str, Page] | None:
        """Digest and page of `key`, or None. Never raises for what it holds."""
        ...

    def discard(self, digest: str) -> None:
        """Forget the page, if it is here; whoever holds it may go on using it."""
        ...


class MemoryTier:
    """LRU of opened pages with an exact byte budget; 0 keeps none. Thread-safe.

    Entries are found by the whole key, so token ids are compared on every hit.
    """

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._lock = threading.Lock()
        self._pages: OrderedDict[AffixKey, tuple[str, Page]] = OrderedDict()
        self._keys: dict[str, AffixKey] = {}
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of the pages held."""
        return self._size_bytes

    def get(self, key: AffixKey) -> tuple[str, Page] | None:
        """See `Tier.get`; the hit becomes the most recently used."""
        with self._lock:
            found = self._pages.get(key)
            if found is not None:
                self._pages.move_to_end(key)
            return found

    def put(self, key: AffixKey, digest: str, page: Page) -> None:
        """Keep `page` unless it is larger than the whole budget; drops the least recently used."""
        size_bytes = _resident_bytes(page)
        with self._lock:
            if key in self._pages or size_bytes > self._budget_bytes:
                return
            while self._size_bytes + size_bytes > self._budget_bytes:
                self._drop(next(iter(self._pages)))
            self._pages[key] = (digest, page)
            self._keys[digest] = key
            self._size_bytes += size_bytes

    def discard(self, digest: str) -> None:
        """See `Tier.discard`."""
        with self._lock:
            if digest in self._keys:
                self._drop(self._keys[digest])

    def clear(self) -> None:
        """Forget every page."""
        with self._lock:
            self._pages.clear()
            self._keys.clear()
            self._size_bytes = 0

    def _drop(self, key: AffixKey) -> None:
        digest, page = self._pages.pop(key)
        del self._keys[digest]
        self._size_bytes -= _resident_bytes(page)


def _resident_bytes(page: Page) -> int:
    return page.size_bytes + page.token_ids.numel() * page.token_ids.element_size()
