"""Semi-autoregressive block decoding with intra-request KV caches (Fast-dLLM, arXiv 2505.22618).

Every forward is a refresh (all live rows, at a block's start) or a refine (some rows of the canvas, the rest
frozen). The intra-request caches differ only in the rows they compute (`ragcache.decoding.caches`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

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
    """How to denoise. `max_tokens`, `block_length` and `min_tokens` in tokens.

    What is None is the model's own (`ragcache.decoding.defaults`). Before `min_tokens` no token ends the
    answer, which keeps a model from flooding its first block with EOS. `cache` is an intra-request cache in
    its short form, see `ragcache.decoding.caches.parse_cache`. `seed`, `top_k` and `top_p` matter where
    something is drawn.
    """

    max_tokens: int = 32
    block_length: int | None = None
    rule: CommitRule | None = None
    cache: str = "dual"
    temperature: float = 0.0
    confidence: str | None = None
    seed: int = 0
    top_k: int | None = None
    top_p: float | None = None
    min_tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("max_tokens", "block_length", "top_k"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, not {value}")
        parse_cache(self.cache)
        if not 0 <= self.seed <= MAX_SEED:
            raise ConfigError(f"seed must be from 0 to {MAX_SEED}, not {self.seed}")
        if not 0.0 <= self.temperature < math.inf:
            raise ConfigError(f"temperature must be 0 or more and finite, not {self.temperature}")
        if self.top_p is not None and not 0.0 < self.top_p <= 1.0:
            raise ConfigError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        if self.min_tokens < 0:
            raise ConfigError(f"min_tokens must be 0 or more, not {self.min_tokens}")
        if self.confidence is not None:
            confidence_named(self.confidence)


def denoise(
    canvas: Canvas,
    at_block: Callable[[int], Live],
    kv: RequestKV,
    options: DecodingOptions,
    ended: Callable[[list[int]], bool] = lambda answer: False,
    ends: Collection[int] = (),
) -> Work[int]:
    """Fill the canvas block by block; the number of positions decided.

    `at_block` gives the rows of the refresh at the start of a block, by its number: everything that `kv` does
    not hold frozen. After each block `ended` sees the answer so far and may stop; later blocks then stay
    masked. `ends` are the tokens that `options.min_tokens` holds back.
    """
    commit = _Commit(canvas, options, ends)
    cache = parse_cache(options.cache).begin(canvas, kv)
    # With shifted logits the row before a block is computed by its refresh alone, which decides the first
    # position; refines decide the others (Fast-dLLM's rhythm for Dream).
    first_alone = canvas.shift > 0 and options.cache != "none"
    stop = canvas.prompt_tokens
    for number, (start, stop) in enumerate(canvas.blocks()):
        live, step = at_block(number), 0
        masked = masked_at_start = canvas.masked(start, stop)
        while len(masked):
            rows = cache.rows(live, start, stop, step)
            sample = torch.searchsorted(rows.positions, canvas.predictors(masked))
            ids = canvas.token_ids[rows.positions]
            logits = yield Step(rows.positions, ids, sample, kv, kind=rows.kind, path=rows.path)
            ready = slice(1) if first_alone and step == 0 else slice(None)
            commit(masked[ready], logits[ready], step, len(masked_at_start))
            step, masked = step + 1, canvas.masked(start, stop)
        if ended(canvas.answer(stop)):
            break
    return stop - canvas.prompt_tokens


class _Commit:
    """Turns the most confident masked positions of one request's canvas into tokens."""

    def __init__(self, canvas: Canvas, options: DecodingOptions, ends: Collection[int]) -> None:
        self.canvas, self.options = canvas, options
        self.generator = torch.Generator().manual_seed(options.seed)
        self.rule = options.rule or ConfidenceThreshold()
        self.confidence = confidence_named(options.confidence or "low_confidence")
        self.ends = torch.tensor(sorted(ends), dtype=torch.int64)

    def __call__(self, masked: Tensor, logits: Tensor, step: int, masked_at_start: int) -> None:
        """Commit at some of the positions `masked` `[m]`, by their logits `[m, vocabulary]`."""
        tokens, confidence = propose(
            logits,
            mask_id=self.canvas.mask_id,
            temperature=self.options.temperature,
            generator=self.generator,
            confidence=self.confidence,
            top_k=self.options.top_k,
            top_p=self.options.top_p,
            banned=self._banned(masked, logits),
        )
        order = confidence.sort(descending=True, stable=True)  # ties go to the lower position
        count = self.rule.count(order.values, step=step, masked_at_start=masked_at_start)
        chosen = order.indices[:count]
        self.canvas.commit(masked[chosen.cpu()], tokens[chosen].cpu())

    def _banned(self, masked: Tensor, logits: Tensor) -> Tensor | None:
        early = masked < self.canvas.prompt_tokens + self.options.min_tokens
        if not len(self.ends) or not bool(early.any()):
            return None
        banned = torch.zeros(logits.shape, dtype=torch.bool)
        banned[:, self.ends] = early[:, None]
        return banned.to(logits.device)
