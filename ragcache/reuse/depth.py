"""Depth reuse: how many layers of an affix are served from its page (BiCache, arXiv 2606.07571)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ragcache.errors import ConfigError

Entries = tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class DepthTable:
    """`entries` `((r, b), ...)`: from an affix share of r percent of the sequence on, b layers are safe.

    Sorted by r; b never falls. Raises `ConfigError` for a table that is not so.
    """

    name: str
    layers: int
    entries: Entries

    def __post_init__(self) -> None:
        shares = [share for share, _ in self.entries]
        depths = [depth for _, depth in self.entries]
        if not self.entries or shares != sorted(set(shares)) or depths != sorted(depths):
            raise ConfigError(f"depth table {self.name!r}: shares must rise and depths must not fall")
        if not 0 <= shares[0] <= shares[-1] <= 100:
            raise ConfigError(f"depth table {self.name!r}: shares are percent, from 0 to 100")
        if depths[0] < 0 or depths[-1] > self.layers:
            raise ConfigError(
                f"depth table {self.name!r} has depths up to {depths[-1]}, the model {self.layers} layers; "
                f"give 0 to {self.layers}, or measure this model's own: ragcache profile-depth"
            )

    def depth(self, share: float) -> int:
        """Safe layers for an affix `share` (0..1) of prompt and canvas: the largest r not above it."""
        found = [depth for at, depth in self.entries if at <= share * 100]
        return found[-1] if found else 0

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """Layers before which a page must keep hidden states: every depth of the table within the model."""
        return tuple(sorted({depth for _, depth in self.entries if 0 < depth < self.layers}))

    def for_layers(self, layers: int) -> DepthTable:
        """The table for a model of `layers`. Raises `ConfigError` when it is another model's."""
        if layers != self.layers:
            raise ConfigError(
                f"depth table {self.name!r} is for {self.layers} layers, this model has {layers}; "
                "make its own: ragcache profile-depth"
            )
        return self


def fixed_depth(depth: int, layers: int) -> DepthTable:
    """The same depth whatever the share. Raises `ConfigError` when the model has fewer layers."""
    return DepthTable(f"depth {depth}", layers, ((0, depth),))


def _entries(text: str) -> Entries:
    pairs = (pair.split(":") for pair in text.split())
    return tuple((float(share), int(depth)) for share, depth in pairs)


# The two published tables.
PUBLISHED: Mapping[str, DepthTable] = MappingProxyType(
    {
        table.name: table
        for table in (
            DepthTable(
                "LLaDA-8B-Instruct",
                32,
                _entries(
                    "0:1 5:2 10:3 13:5 15:7 20:8 21:9 30:10 49:11 54:13 66:14 68:15 73:16 87:17 93:18 95:19 "
                    "97:20 98:22 99:32"
                ),
            ),
            DepthTable(
                "Dream-7B-Instruct",
                28,
                _entries("0:1 9:2 10:4 19:5 32:6 47:7 56:8 63:9 76:12 85:13 86:14 92:16 94:17 95:18 96:28"),
            ),
        )
    }
)
