"""Exact accounting of what requests hold for themselves, and admission by it."""

from __future__ import annotations

import threading

from ragcache.errors import ConfigError, RequestTooLargeError


class Grant:
    """Bytes that one request may hold, until `release`."""

    def __init__(self, budget: KVBudget, held_bytes: int) -> None:
        self._budget, self._held_bytes = budget, held_bytes

    def keep(self, held_bytes: int) -> None:
        """The request turned out to hold so many bytes; what was granted beyond them is free again."""
        self._budget.change(held_bytes - self._held_bytes)
        self._held_bytes = held_bytes

    def release(self) -> None:
        """The request holds nothing any more; may be called again."""
        self.keep(0)


class KVBudget:
    """Bytes of private KV, of all requests that run; `limit_bytes` None counts and refuses nothing.

    Thread-safe. Raises `ConfigError` for a limit that no request fits.
    """

    def __init__(self, limit_bytes: int | None = None) -> None:
        if limit_bytes is not None and limit_bytes < 1:
            raise ConfigError(f"kv_bytes must be at least 1, not {limit_bytes}; None sets no limit")
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._used_bytes = self._peak_bytes = 0

    @property
    def used_bytes(self) -> int:
        """Granted now; 0 when nothing runs."""
        return self._used_bytes

    @property
    def peak_bytes(self) -> int:
        """The most that was granted at a time."""
        return self._peak_bytes

    def take(self, needed_bytes: int) -> Grant | None:
        """A grant of `needed_bytes`; None while others hold too much.

        Raises `RequestTooLargeError` when waiting would not help.
        """
        if self.limit_bytes is not None and needed_bytes > self.limit_bytes:
            raise RequestTooLargeError(needed_bytes, self.limit_bytes)
        with self._lock:
            if self.limit_bytes is not None and self._used_bytes + needed_bytes > self.limit_bytes:
                return None
            self._add(needed_bytes)
        return Grant(self, needed_bytes)

    def change(self, by_bytes: int) -> None:
        """A grant grew or shrank; called by `Grant`."""
        with self._lock:
            self._add(by_bytes)

    def _add(self, by_bytes: int) -> None:
        self._used_bytes += by_bytes
        self._peak_bytes = max(self._peak_bytes, self._used_bytes)
