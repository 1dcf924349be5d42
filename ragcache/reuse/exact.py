"""Which columns of a page hold exactly what a full forward would give, and which rows can never be frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from ragcache.decoding.canvas import Canvas
from ragcache.model.config import ModelConfig
from ragcache.model.segment import Segment


def most_always_live(config: ModelConfig) -> int:
    """How many rows of a prompt's affixes can never be frozen, at most: see `always_live`, `split_exact`."""
    return int(config.logits_shift) + max(0, config.causal_block - 1)


def always_live(canvas: Canvas, segments: Sequence[Segment]) -> list[Segment]:
    """The segments without the row before the answer, if the answer's first token is read from it."""
    if not canvas.shift or not canvas.prompt_tokens:
        return list(segments)
    read = canvas.predictors(torch.tensor([canvas.prompt_tokens]))
    return [segment.without(read) for segment in segments]


def split_exact(canvas: Canvas, segments: Sequence[Segment]) -> tuple[list[Segment], list[Segment]]:
    """The segments, or parts of them, that are exact; and those that are stale.

    Under block-causal attention rows see nothing after their own block. So a page is exact, as far as whole
    blocks go, where the prompt before it is what stood before it when it was encoded: at the prompt's begin,
    or behind the same scaffold. The rest of its last block has to be computed. With bidirectional attention
    nothing is exact.
    """
    exact: list[Segment] = []
    stale: list[Segment] = []
    for segment in segments:
        run = _in_true_context(canvas, segment)
        end = segment.offset + run
        whole = end - end % canvas.block_length - segment.offset
        columns = torch.arange(segment.page.tokens)
        exact.append(replace(segment, keep=segment.keep & (columns < whole)))
        stale.append(replace(segment, keep=segment.keep & (columns >= run)))
    return _seen(exact), _seen(stale)


def _in_true_context(canvas: Canvas, segment: Segment) -> int:
    """How many of the page's first columns have before them what they had when they were encoded."""
    before = segment.before
    if not canvas.causal or before is None or segment.offset != len(before):
        return 0
    if tuple(canvas.token_ids[: len(before)].tolist()) != before:
        return 0
    left_out = (~segment.keep).nonzero()
    return int(left_out[0]) if len(left_out) else segment.page.tokens


def _seen(segments: list[Segment]) -> list[Segment]:
    return [segment for segment in segments if bool(segment.keep.any())]
