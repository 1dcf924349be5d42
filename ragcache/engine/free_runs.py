"""Which places of a row are free, as runs: taken by best fit, joined again when they are given back."""

from __future__ import annotations

from bisect import bisect


class FreeRuns:
    """Places `0..size`, all free at first. Not thread-safe."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._runs = [(0, size)] if size else []  # (start, stop), sorted, no two of them touch

    @property
    def all_free(self) -> bool:
        """Whether nothing is taken."""
        return self.free == self.size

    @property
    def free(self) -> int:
        """How many places are free, in all runs together."""
        return sum(stop - start for start, stop in self._runs)

    def take(self, count: int) -> int | None:
        """The start of `count` places side by side, from the shortest run that has them; None without one."""
        fitting = [(stop - start, number) for number, (start, stop) in enumerate(self._runs)]
        number = min(((length, n) for length, n in fitting if length >= count), default=(0, -1))[1]
        if number < 0:
            return None
        start, stop = self._runs[number]
        self._runs[number : number + 1] = [(start + count, stop)] if start + count < stop else []
        return start

    def give(self, start: int, stop: int) -> None:
        """The places `start..stop`, which were taken, are free again."""
        if start == stop:
            return
        number = bisect(self._runs, (start, stop))
        before, after = self._runs[:number], self._runs[number:]
        if before and before[-1][1] == start:
            start = before.pop()[0]
        if after and after[0][0] == stop:
            stop = after.pop(0)[1]
        self._runs = [*before, (start, stop), *after]
