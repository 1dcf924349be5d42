"""How many affix tokens become anchors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ragcache.errors import ConfigError


class Budget(Protocol):
    """Turns scores into a number of anchors. `least` and `most` bound its share of the affix tokens."""

    @property
    def name(self) -> str:
        """As in policy strings, after the criterion: `@0.2`."""
        ...

    @property
    def least(self) -> float:
        """Smallest share."""
        ...

    @property
    def most(self) -> float:
        """Largest share."""
        ...

    def count(self, scores: Tensor) -> int:
        """How many of the tokens with `scores` `[n]` to recompute."""
        ...


@dataclass(frozen=True)
class Share:
    """A fixed share of the affix tokens, rounded up."""

    share: float = 0.2

    def __post_init__(self) -> None:
        _check_share("budget", self.share)

    @property
    def name(self) -> str:
        """See `Budget`."""
        return f"@{self.share:g}"

    @property
    def least(self) -> float:
        """See `Budget`."""
        return self.share

    @property
    def most(self) -> float:
        """See `Budget`."""
        return self.share

    def of(self, tokens: int) -> int:
        """The share of `tokens`."""
        return math.ceil(round(self.share * tokens, 9))

    def count(self, scores: Tensor) -> int:
        """See `Budget`."""
        return self.of(len(scores))


@dataclass(frozen=True)
class AdaptiveShare:
    """The highest scores until they hold the share `mass` of the sum; at least and at most so many tokens."""

    mass: float = 0.9
    least: float = 0.02
    most: float = 0.6

    def __post_init__(self) -> None:
        for name in ("mass", "least", "most"):
            _check_share(name, getattr(self, name))
        if self.least > self.most:
            raise ConfigError(f"least {self.least} is above most {self.most}; swap them")

    @property
    def name(self) -> str:
        """See `Budget`."""
        bounds = "" if self == AdaptiveShare(self.mass) else f":{self.least:g}-{self.most:g}"
        return f"@{self.mass:g}{bounds}"

    def count(self, scores: Tensor) -> int:
        """See `Budget`."""
        shares = scores.to(torch.float64).sort(descending=True).values.cumsum(0)
        needed = int((shares < self.mass * float(shares[-1])).sum()) + 1 if len(scores) else 0
        low, high = (Share(share).of(len(scores)) for share in (self.least, self.most))
        return min(max(needed, low), high)


def _check_share(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"{name} {value} lies outside 0..1; use 0.2 to recompute a fifth")
