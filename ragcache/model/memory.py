"""Whether a model fits: what a device has free, said before anything is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ragcache.errors import ConfigError, ModelTooLargeError
from ragcache.model.config import ModelConfig

_LOGITS_BYTES = 32  # a logit, and what sampling makes of it in fp64
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes that serving takes: weights, one copy of the affixes' pages, and what each request has alone."""

    weights_bytes: int
    pages_bytes: int
    requests_bytes: int
    logits_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.weights_bytes + self.pages_bytes + self.requests_bytes + self.logits_bytes


@dataclass(frozen=True)
class Load:
    """Requests at a time, and their sizes in tokens: affixes, the rest of the prompt, the canvas, a block."""

    batch: int
    affix_tokens: int
    prompt_tokens: int
    max_tokens: int
    block_length: int

    def __post_init__(self) -> None:
        if self.batch < 1 or self.max_tokens < 1 or min(self.affix_tokens, self.prompt_tokens) < 0:
            raise ConfigError(
                "a batch has 1 or more requests, an answer 1 or more tokens, a prompt 0 or more"
            )

    @property
    def tokens(self) -> int:
        """Prompt and canvas of one request."""
        return self.affix_tokens + self.prompt_tokens + self.max_tokens


def memory_need(config: ModelConfig, dtype: torch.dtype, weights_bytes: int, load: Load) -> MemoryNeed:
    """What `load` needs, all of its requests reusing the same affixes, each with a buffer over all positions.

    Hidden states of a forward, a small part, are left out.
    """
    per_token = config.kv_elements_per_token * dtype.itemsize
    return MemoryNeed(
        weights_bytes,
        load.affix_tokens * per_token,
        load.batch * load.tokens * per_token,
        load.batch * min(load.block_length, load.max_tokens) * config.embedding_rows * _LOGITS_BYTES,
    )


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
