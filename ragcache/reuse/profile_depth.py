"""BiCache's profiler (arXiv 2606.07571): down to which layer a page equals what a full input would give."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice, takewhile
from typing import Any

import torch
from torch import Tensor

from ragcache.decoding.encode import ALONE, Scaffold, encode_affixes
from ragcache.errors import ConfigError, InputError
from ragcache.model.transformer import MaskPredictor
from ragcache.page import Page
from ragcache.reuse.criteria.deviation import cosine_distance
from ragcache.reuse.depth import DepthTable

log = logging.getLogger(__name__)

SHARES = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0)
SHORTEST = 8  # tokens of an affix: engines reuse no shorter one, and fewer would be chance
CANVAS = 32  # masks at most
AROUND = 2  # tokens beside the affix at least: one of the request, one mask

Ids = tuple[int, ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class DepthProfile:
    """A measured table, and what it was read off: `similarity[share][layer]`, in the order of its entries."""

    table: DepthTable
    threshold: float
    similarity: tuple[tuple[float, ...], ...]

    def values(self) -> dict[str, Any]:
        """Plain values, as `ragcache.engine.profiles` keeps them."""
        return {
            "name": self.table.name,
            "layers": self.table.layers,
            "entries": [list(entry) for entry in self.table.entries],
            "threshold": self.threshold,
            "similarity": [list(row) for row in self.similarity],
        }


@dataclass(frozen=True)
class DepthProfiler:
    """How to measure: affix `shares` in percent of prompt and canvas, on `samples` pieces of text.

    Sequences have at most `tokens` tokens. A layer is safe while pages are more than `threshold` alike.
    Raises `ConfigError` for a value out of range.
    """

    threshold: float = 0.95
    samples: int = 8
    tokens: int = 512
    shares: tuple[float, ...] = SHARES

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise ConfigError(f"threshold {self.threshold} lies outside 0..1; usual are 0.95 to 0.97")
        if self.samples < 1:
            raise ConfigError(f"samples must be at least 1, not {self.samples}")
        if not self.shares or list(self.shares) != sorted(set(self.shares)):
            raise ConfigError("shares must rise; give for example 0, 50, 90")
        if not 0.0 <= self.shares[0] <= self.shares[-1] < 100.0:
            raise ConfigError(
                "shares are percent, from 0 to below 100: something must stand beside the affix"
            )
        if self.tokens < self.least_tokens:
            raise ConfigError(f"tokens must be at least {self.least_tokens} for these shares")

    @property
    def least_tokens(self) -> int:
        """The shortest sequence in which every share leaves room beside the affix."""
        return max(math.ceil(100.0 * AROUND / (100.0 - self.shares[-1])), SHORTEST + AROUND)

    def measure(
        self,
        predictor: MaskPredictor,
        texts: Sequence[Sequence[int]],
        *,
        name: str,
        progress: Progress = lambda done, total: None,
    ) -> DepthProfile:
        """The profile of `predictor` on the token ids of `texts`; `progress` gets forwards done and in all.

        Raises `InputError` when no text is long enough for the largest share, or the window is too small.
        """
        pieces = self._pieces(texts, predictor.config.max_tokens)
        chosen = self._chosen(pieces)
        similarity, done, total = [], 0, len(chosen) * len(self.shares)
        for share in self.shares:
            alike = []
            for number in chosen:
                affix, around = self.sample(pieces, number, share, predictor)
                alike.append(_alike(*encode_affixes(predictor, [affix, affix], scaffolds=[ALONE, around])))
                done += 1
                progress(done, total)
            similarity.append(tuple(torch.cat(alike, dim=1).mean(dim=1).tolist()))
        depths = accumulate((self._depth(row) for row in similarity), max)
        table = DepthTable(name, predictor.config.layers, tuple(zip(self.shares, depths, strict=True)))
        return DepthProfile(table, self.threshold, tuple(similarity))

    def sample(
        self, pieces: Sequence[Ids], number: int, share: float, predictor: MaskPredictor
    ) -> tuple[Ids, Scaffold]:
        """An affix out of piece `number`, and what stands around it.

        That is text of the other pieces, half of it before the affix and half after it, and the canvas.
        """
        own, config = pieces[number], predictor.config
        tokens = min(self._length(len(own)), config.max_tokens, sum(map(len, pieces)))
        size = min(max(round(share / 100 * tokens), SHORTEST), tokens - AROUND)
        masks = min(CANVAS, (tokens - size) // 2)
        others = [*pieces[number + 1 :], *pieces[:number], own[size:]]
        request = list(islice(chain.from_iterable(others), tokens - size - masks))
        half = len(request) // 2
        after = (*request[half:], *[config.mask_id] * masks)
        return own[:size], Scaffold(tuple(request[:half]), after)

    def _pieces(self, texts: Sequence[Sequence[int]], window: int) -> list[Ids]:
        """The texts, long ones in pieces of the largest affix that fits; what is too short is left out."""
        if window < self.least_tokens:
            raise InputError(f"the model's window of {window} tokens is below the {self.least_tokens} needed")
        size = max(math.floor(min(self.tokens, window) * self._largest), SHORTEST)
        cut = [tuple(text[at : at + size]) for text in texts for at in range(0, len(text), size)]
        pieces = [piece for piece in cut if self._fits(piece)]
        if sum(map(len, pieces)) < self.least_tokens:
            longest = max((len(text) for text in texts), default=0)
            raise InputError(
                f"texts too short: the longest has {longest} tokens, {self.least_tokens} are needed to "
                f"measure a share of {self.shares[-1]:g} %; give longer ones"
            )
        short = sum(not self._fits(text) for text in texts)
        if short:
            log.warning("%d of %d texts are too short to measure with, and left out", short, len(texts))
        return pieces

    @property
    def _largest(self) -> float:
        """The largest affix, as a part of the sequence."""
        return max(self.shares[-1] / 100, SHORTEST / self.tokens)

    def _length(self, own: int) -> int:
        """The longest sequence of which `own` tokens are the largest affix."""
        return min(math.floor(own / self._largest), self.tokens)

    def _fits(self, text: Sequence[int]) -> bool:
        return len(text) >= SHORTEST and self._length(len(text)) >= self.least_tokens

    def _chosen(self, pieces: Sequence[Ids]) -> list[int]:
        """Numbers of the pieces to measure, spread over all."""
        count = min(self.samples, len(pieces))
        return [number * len(pieces) // count for number in range(count)]

    def _depth(self, similarity: Sequence[float]) -> int:
        return len(list(takewhile(lambda value: value > self.threshold, similarity)))


def _alike(alone: Page, within: Page) -> Tensor:
    """Cosine similarity `[layers, tokens]` of the pages' keys and values, the mean of both."""
    keys, values = (
        torch.stack([cosine_distance(*pair) for pair in zip(one, other, strict=True)])
        for one, other in ((alone.keys, within.keys), (alone.values, within.values))
    )
    return 1.0 - (keys + values) / 2
