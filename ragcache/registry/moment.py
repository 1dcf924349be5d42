"""Points in time that a clock set back, or forth, does not move."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Moment:
    """A point in time as all processes of a machine see it.

    `elapsed_s` is the machine's uptime, which nobody can set, within the run of the machine called
    `boot`; `wall_s` is the clock on the wall, trusted only over a restart.
    """

    boot: str
    elapsed_s: float
    wall_s: float

    @classmethod
    def now(cls) -> Moment:
        """This moment."""
        return cls(_boot(), _uptime_s(), time.time())

    def same_boot(self, now: Moment) -> bool:
        """Whether the machine was not restarted between this moment and `now`."""
        return self.boot == now.boot and self.elapsed_s <= now.elapsed_s

    def age_s(self, now: Moment) -> float:
        """Seconds from this moment to `now`, never negative."""
        if self.same_boot(now):
            return now.elapsed_s - self.elapsed_s
        return max(0.0, now.wall_s - self.wall_s)


@cache
def _boot() -> str:
    """The kernel's name for this run of the machine; empty where it has none."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def _uptime_s() -> float:
    """Goes on while the machine sleeps, where there is such a clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
