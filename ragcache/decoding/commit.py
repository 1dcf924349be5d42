"""Commit rules: how many of the most confident masked positions become tokens after a forward.

Sources: Fast-dLLM (arXiv 2505.22618) for the threshold and factor rules, LLaDA (arXiv 2502.09992) for fixed
steps, Dream (arXiv 2508.15487) for times, arXiv 2505.24857 for the entropy bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from ragcache.errors import ConfigError


class CommitRule(Protocol):
    """Every rule commits the n best; rules differ in n."""

    def count(self, confidence: Tensor, *, step: int, masked_at_start: int) -> int:
        """How many of `confidence` `[m]`, sorted descending, to commit; at least 1.

        `step` counts the block's forwards from 0, `masked_at_start` its masks before the first.
        """
        ...


@dataclass(frozen=True)
class ConfidenceThreshold:
    """All positions at or above `threshold` (a probability), and always the best one."""

    threshold: float = 0.9

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise ConfigError(f"threshold {self.threshold} is not a probability; use 0..1 (usual: 0.9)")

    def count(self, confidence: Tensor, *, step: int, masked_at_start: int) -> int:
        """See `CommitRule`."""
        return max(1, int((confidence >= self.threshold).sum()))


@dataclass(frozen=True)
class FixedSteps:
    """The block's masks split evenly over `steps_per_block`, the remainder to the first steps."""

    steps_per_block: int

    def __post_init__(self) -> None:
        if self.steps_per_block < 1:
            raise ConfigError(f"steps per block must be at least 1, not {self.steps_per_block}")

    def count(self, confidence: Tensor, *, step: int, masked_at_start: int) -> int:
        """See `CommitRule`."""
        share, remainder = divmod(masked_at_start, self.steps_per_block)
        return max(1, share + (step < remainder))


@dataclass(frozen=True)
class Times:
    """Dream's schedule: time falls evenly from 1 to `end` in `steps`; a step from t to s commits the share
    1 - s/t of the masks that are left, the last step all of them."""

    steps: int
    end: float = 1e-3

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0.0 <= self.end < 1.0:
            raise ConfigError(
                f"times: {self.steps} steps down to {self.end}; give 1 or more, down to under 1"
            )

    def count(self, confidence: Tensor, *, step: int, masked_at_start: int) -> int:
        """See `CommitRule`."""
        if step >= self.steps - 1:
            return len(confidence)
        now, then = (1.0 - at * (1.0 - self.end) / self.steps for at in (step, step + 1))
        return max(1, int(len(confidence) * (1.0 - then / now)))


@dataclass(frozen=True)
class Factor:
    """The first n with (n + 1)(1 - confidence_n) < `factor`, and always the best one."""

    factor: float = 1.0

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise ConfigError(f"factor must be positive, not {self.factor} (usual: 1.0)")

    def count(self, confidence: Tensor, *, step: int, masked_at_start: int) -> int:
        """See `CommitRule`."""
        for n, value in enumerate(confidence.tolist(), start=1):
            if (n + 1) * (1.0 - value) >= self.factor:
                return max(1, n - 1)
        return len(confidence)


@dataclass(frozen=True)
class EntropyBound:
    """The n of least entropy whose entropies, but for the largest, sum to at most `bound` nats: what these
    tokens can tell of one another. Confidences are negative entropies."""

    bound: float = 0.1

    def __post_init__(self) -> None:
        if not self.bound > 0:
            raise ConfigError(f"an entropy bound must be positive, not {self.bound} (usual: 0.1)")

    def count(self, confidence: Tensor, *, step: int, masked_at_start: int) -> int:
        """See `CommitRule`."""
        return max(1, int(((confidence - confidence.cumsum(0)) <= self.bound).sum()))
