"""What forwards, loading and encoding took here so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragcache.decoding.step import Step

SURE_AFTER = 3  # loads and encodings, before the model is trusted


def shares_s(steps: Sequence[Step], seconds: float, layers: int) -> list[float]:
    """Each step's part of the `seconds` of their forward: as much as of its rows through all `layers`."""
    costs = [step.cost(layers) for step in steps]
    every = sum(costs) or 1.0
    return [seconds * cost / every for cost in costs]


@dataclass
class Rate:
    """Seconds for `tokens`, recent ones weighing most."""

    seconds: float = 0.0
    tokens: float = 0.0
    seen: int = 0

    def add(self, tokens: int, seconds: float) -> None:
        """Old measurements fade: disks warm up and machines get busy."""
        self.seconds = 0.8 * self.seconds + seconds
        self.tokens = 0.8 * self.tokens + tokens
        self.seen += 1

    def estimate_s(self, tokens: int) -> float:
        """Seconds for `tokens`."""
        return self.seconds * tokens / self.tokens


@dataclass
class CostModel:
    """Measured speed of loading pages and of encoding them, in tokens."""

    load: Rate = field(default_factory=Rate)
    encode: Rate = field(default_factory=Rate)

    def loaded(self, tokens: int, seconds: float) -> None:
        """A page of `tokens` was loaded."""
        self.load.add(tokens, seconds)

    def encoded(self, tokens: int, seconds: float) -> None:
        """Affixes of `tokens` in all were encoded."""
        self.encode.add(tokens, seconds)

    def encoding_is_faster(self, tokens: int) -> bool:
        """Whether to encode `tokens` instead of loading them; False until both speeds are known."""
        if min(self.load.seen, self.encode.seen) < SURE_AFTER:
            return False
        return self.encode.estimate_s(tokens) < self.load.estimate_s(tokens)


@dataclass
class RowCost:
    """A line through rows and seconds of forwards, by least squares; small forwards are mostly overhead."""

    count: int = 0
    rows: float = 0.0
    seconds: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def add(self, rows: float, seconds: float) -> None:
        """A forward over `rows`, of all its requests."""
        self.count += 1
        self.rows += rows
        self.seconds += seconds
        self.squares += rows * rows
        self.products += rows * seconds

    @property
    def row_s(self) -> float:
        """Seconds that one more row takes; 0 until forwards of two sizes were seen."""
        spread = self.count * self.squares - self.rows**2
        slope = self.count * self.products - self.rows * self.seconds
        return max(0.0, slope / spread) if spread > 0 else 0.0
