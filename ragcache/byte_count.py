"""Bytes in use, and the most there were."""

from __future__ import annotations


class ByteCount:
    """What an owner of memory counts, under a lock of its own."""

    def __init__(self) -> None:
        self._size_bytes = self._peak_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes in use now."""
        return self._size_bytes

    @property
    def peak_bytes(self) -> int:
        """The largest `size_bytes` so far."""
        return self._peak_bytes

    def add(self, by_bytes: int) -> None:
        """So many more are in use; fewer, when negative."""
        self._size_bytes += by_bytes
        self._peak_bytes = max(self._peak_bytes, self._size_bytes)
