"""What reuse was worth to one request, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from ragcache.engine import Completion


@dataclass(frozen=True)
class Comparison:
    """Seconds for the context: `cached_s` probe and refreshes, `full_s` as many full forwards.

    `full_s` is 0 where no full forward was measured.
    """

    cached_s: float
    full_s: float

    @property
    def verdict(self) -> str:
        """In words, no better than it is; empty without a measurement."""
        if not self.full_s or not self.cached_s:
            return ""
        ratio = self.full_s / self.cached_s
        return f"{ratio:.1f} times as fast" if ratio >= 1.05 else "reuse was not faster here"


def compare(completion: Completion) -> Comparison:
    """The comparison for one request."""
    times = completion.timings
    return Comparison(times.probe_s + times.refresh_s, times.full_s * completion.refreshes)


def duration(seconds: float) -> str:
    """For reading: milliseconds."""
    return f"{seconds * 1000:.1f} ms"
