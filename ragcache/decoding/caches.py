"""Intra-request caches: which rows each forward of one request computes.

Sources: Fast-dLLM (arXiv 2505.22618) for none, prefix and dual; dLLM-Cache (arXiv 2506.06295);
Window-Diffusion for the active window. State lives with the request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from torch import Tensor

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.feature_cache import FeatureCache
from ragcache.decoding.step import StepKind
from ragcache.errors import ConfigError
from ragcache.model.attention import RequestKV
from ragcache.model.path import RowPath


@dataclass(frozen=True)
class Live:
    """Rows of one forward: `positions` `[n]`, sorted, and their path (None: through all layers)."""

    positions: Tensor
    path: RowPath | None = None
    kind: StepKind = "refresh"

    def within(self, start: int, stop: int) -> Tensor:
        """Positions from `start` to `stop`."""
        return self.positions[(self.positions >= start) & (self.positions < stop)]


class CacheState(Protocol):
    """Decides the rows of one request, forward by forward."""

    def rows(self, live: Live, start: int, stop: int, step: int) -> Live:
        """Rows of forward number `step` of the block `start:stop`, whose refresh computes `live`."""
        ...


class IntraCache(Protocol):
    """A kind of cache, as a value."""

    def begin(self, canvas: Canvas, kv: RequestKV) -> CacheState:
        """The state of one request."""
        ...


@dataclass(frozen=True)
class BlockCache:
    """A refresh at every block's start; later forwards compute the rows that `refine` names."""

    refine: str = "dual"

    def begin(self, canvas: Canvas, kv: RequestKV) -> CacheState:
        """See `IntraCache`."""
        return _Blocks(self.refine, canvas)


@dataclass(frozen=True)
class _Blocks:
    refine: str
    canvas: Canvas

    def rows(self, live: Live, start: int, stop: int, step: int) -> Live:
        """See `CacheState`.

        A block-causal model sees no later block, and nothing changes before the one decided last: refreshes
        compute these two and lose nothing (Block Diffusion, arXiv 2503.09573).
        """
        canvas = self.canvas
        end = stop if canvas.causal else canvas.tokens
        if self.refine == "none":
            return Live(live.within(0, end), live.path, "refine" if step else "refresh")
        if step:
            stop = stop if self.refine == "dual" else end
            return Live(live.within(canvas.seen_from(start), stop), kind="refine")
        if canvas.causal and start > canvas.prompt_tokens:
            return Live(live.within(start - canvas.block_length, end))
        return Live(live.within(0, end), live.path)


@dataclass(frozen=True)
class ActiveWindow:
    """Window-Diffusion: computes the block, keeps a `buffer` of masks after it cached, prunes the far ones.

    Pruned masks are neither computed nor seen until the refresh of a later block.
    """

    buffer: int = 32

    def __post_init__(self) -> None:
        if self.buffer < 0:
            raise ConfigError(f"window: a buffer of {self.buffer} tokens; give 0 or more")

    def begin(self, canvas: Canvas, kv: RequestKV) -> CacheState:
        """See `IntraCache`."""
        return _Window(self.buffer, canvas, kv)


@dataclass(frozen=True)
class _Window:
    buffer: int
    canvas: Canvas
    kv: RequestKV

    def rows(self, live: Live, start: int, stop: int, step: int) -> Live:
        """See `CacheState`. What is cut off are the last rows, so that a path's row numbers stay true."""
        if step:
            return Live(live.within(self.canvas.seen_from(start), stop), kind="refine")
        end = min(stop + self.buffer, self.canvas.tokens)
        self.kv.show(end)
        return Live(live.within(0, end), live.path)


@dataclass(frozen=True)
class DLLMCache:
    """dLLM-Cache: all live rows every `prompt_every` forwards, all of the canvas every `response_every`.

    In between, only the share `rho` of the canvas whose values changed most. Intervals count forwards.
    """

    prompt_every: int = 50
    response_every: int = 4
    rho: float = 0.25

    def __post_init__(self) -> None:
        if min(self.prompt_every, self.response_every) < 1 or not 0.0 <= self.rho <= 1.0:
            raise ConfigError(
                f"dllm@{self.prompt_every},{self.response_every},{self.rho:g}: intervals are 1 or more, "
                "rho is a share in 0..1; usual: dllm@50,4,0.25"
            )

    def begin(self, canvas: Canvas, kv: RequestKV) -> CacheState:
        """See `IntraCache`."""
        return _Features(self, canvas, kv)


class _Features:
    def __init__(self, cache: DLLMCache, canvas: Canvas, kv: RequestKV) -> None:
        self.cache, self.canvas = cache, canvas
        self.features = FeatureCache(kv)
        self.forwards = 0

    def rows(self, live: Live, start: int, stop: int, step: int) -> Live:
        """See `CacheState`."""
        cache, canvas = self.cache, self.canvas
        number, self.forwards = self.forwards, self.forwards + 1
        answer = live.within(canvas.prompt_tokens, canvas.tokens)
        self.features.settle()
        if number % cache.prompt_every == 0:
            recorded = self.features.recording(live.path, len(live.positions) - len(answer))
            return Live(live.positions, recorded)
        if number % cache.response_every == 0:
            return Live(answer, self.features.recording(None, 0), "refine")
        count = math.ceil(cache.rho * len(answer))
        return Live(answer, self.features.partial(answer, count), "refine")


def _dllm(values: str) -> IntraCache:
    numbers = values.split(",")
    if len(numbers) != 3:
        raise ConfigError(f"dllm@{values}: give three numbers, as in dllm@50,4,0.25")
    prompt, response, rho = numbers
    return DLLMCache(int(prompt), int(response), float(rho))


# word -> (the usual one, how to make one from what follows the @)
_KINDS: Mapping[str, tuple[IntraCache, Callable[[str], IntraCache] | None]] = MappingProxyType(
    {
        "none": (BlockCache("none"), None),
        "prefix": (BlockCache("prefix"), None),
        "dual": (BlockCache("dual"), None),
        "window": (ActiveWindow(), lambda text: ActiveWindow(int(text))),
        "dllm": (DLLMCache(), _dllm),
    }
)
CACHES = "none, prefix, dual, window, window@BUFFER, dllm, dllm@KP,KR,RHO"


def parse_cache(text: str) -> IntraCache:
    """An intra-request cache from its short form. Raises `ConfigError` naming the known ones."""
    word, sign, values = text.partition("@") if isinstance(text, str) else ("", "", "")
    usual, make = _KINDS.get(word, (None, None))
    if usual is None or (sign and make is None):
        raise ConfigError(f"unknown cache mode {text!r}; known: {CACHES}")
    try:
        return make(values) if sign and make is not None else usual
    except ValueError as error:
        raise ConfigError(f"cache mode {text!r}: {error}; known: {CACHES}") from None
