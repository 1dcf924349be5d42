"""Whether a model fits: what a device has free, said before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import torch

from ragcache.errors import ModelTooLargeError

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def free_bytes(device: torch.device) -> int | None:
    """Free memory of `device` in bytes; None where it cannot be known."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    known = [value for value in (_available(), _left_in_group()) if value is not None]
    return min(known, default=None)


def check_room(what: str, needed_bytes: int, device: torch.device) -> None:
    """Raise `ModelTooLargeError` when `needed_bytes` are more than `device` has free."""
    free = free_bytes(device)
    if free is not None and needed_bytes > free:
        raise ModelTooLargeError(what, needed_bytes, free, str(device))


def _available() -> int | None:
    """What Linux counts as available to new programs."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return None


def _left_in_group() -> int | None:
    """What the container's limit leaves (cgroup v2); None without a limit. File pages can be given back."""
    try:
        limit = int((_CGROUP / "memory.max").read_text(encoding="ascii"))
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
        stat = dict(
            line.split() for line in (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        )
        return limit - used + int(stat.get("file", 0))
    except (OSError, ValueError):
        return None
