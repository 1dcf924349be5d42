"""Semi-autoregressive block decoding with intra-request KV caches (Fast-dLLM, arXiv 2505.22618).

Every forward is a refresh (all live rows, at a block's start) or a refine (some rows of the canvas, the rest
frozen). The intra-request caches differ only in the rows they compute (`ragcache.decoding.caches`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ragcache.decoding.caches import Live, parse_cache
from ragcache.decoding.canvas import Canvas
from ragcache.decoding.commit import CommitRule, ConfidenceThreshold
from ragcache.decoding.sampling import confidence_named, propose
from ragcache.decoding.step import Step, Work
from ragcache.errors import ConfigError
from ragcache.model.attention import RequestKV

MAX_SEED = 2**63 - 1


@dataclass(frozen=True)
class DecodingOptions:
    """How to denoise. `max_tokens` and `block_length` in tokens; `seed` matters only above temperature 0.

    `cache` is an intra-request cache in its short form, see `ragcache.decoding.caches.parse_cache`.
    """

    max_tokens: int = 32
    block_length: int = 32
    rule: CommitRule = field(default_factory=ConfidenceThreshold)
    cache: str = "dual"
    temperature: float = 0.0
    confidence: str = "low_confidence"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("max_tokens", "block_length"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        parse_cache(self.cache)
        if not 0 <= self.seed <= MAX_SEED:
            raise ConfigError(f"seed must be from 0 to {MAX_SEED}, not {self.seed}")
        if not 0.0 <= self.temperature < math.inf:
            raise ConfigError(f"temperature must be 0 or more and finite, not {self.temperature}")
        confidence_named(self.confidence)


def denoise(
    canvas: Canvas,
    at_block: Callable[[int], Live],
    kv: RequestKV,
    options: DecodingOptions,
    ended: Callable[[list[int]], bool] = lambda answer: False,
) -> Work[int]:
    """Fill the canvas block by block; the number of positions decided.

    `at_block` gives the rows of the refresh at the start of a block, by its number: everything that `kv` does
    not hold frozen. After each block `ended` sees the answer so far and may stop; later blocks then stay
    masked.
    """
    generator = torch.Generator().manual_seed(options.seed)
    cache = parse_cache(options.cache).begin(canvas, kv)
    stop = canvas.prompt_tokens
    for number, (start, stop) in enumerate(canvas.blocks()):
        live, step = at_block(number), 0
        masked = masked_at_start = canvas.masked(start, stop)
        while len(masked):
            rows = cache.rows(live, start, stop, step)
            sample = torch.searchsorted(rows.positions, masked)
            ids = canvas.token_ids[rows.positions]
            logits = yield Step(rows.positions, ids, sample, kv, kind=rows.kind, path=rows.path)
            _commit(canvas, masked, logits, options, generator, step, len(masked_at_start))
            step, masked = step + 1, canvas.masked(start, stop)
        if ended(canvas.answer(stop)):
            break
    return stop - canvas.prompt_tokens


def _commit(
    canvas: Canvas,
    masked: Tensor,
    logits: Tensor,
    options: DecodingOptions,
    generator: torch.Generator,
    step: int,
    masked_at_start: int,
) -> None:
    tokens, confidence = propose(
        logits,
        mask_id=canvas.mask_id,
        temperature=options.temperature,
        generator=generator,
        confidence=confidence_named(options.confidence),
    )
    order = confidence.sort(descending=True, stable=True)  # ties go to the lower position
    count = options.rule.count(order.values, step=step, masked_at_start=masked_at_start)
    chosen = order.indices[:count]
    canvas.commit(masked[chosen.cpu()], tokens[chosen].cpu())
