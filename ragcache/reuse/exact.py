"""Which columns of a page hold exactly what a full forward would give, and which rows can never be frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from ragcache.decoding.canvas import Canvas
from ragcache.model.segment import Segment


def always_live(canvas: Canvas, segments: Sequence[Segment]) -> list[Segment]:
    """The segments without the row before the answer, if the answer's first token is read from it."""
    if not canvas.shift or not canvas.prompt_tokens:
        return list(segments)
    read = canvas.predictors(torch.tensor([canvas.prompt_tokens]))
    return [segment.without(read) for segment in segments]


def split_exact(canvas: Canvas, segments: Sequence[Segment]) -> tuple[list[Segment], list[Segment]]:
    """The segments, or parts of them, that are exact; and those that are stale.

    Under block-causal attention rows see nothing after their own block, so a page that was encoded alone and
    begins the prompt is exact as far as whole blocks go. The rest of its last block has to be computed. With
    bidirectional attention nothing is exact.
    """
    exact: list[Segment] = []
    stale: list[Segment] = []
    for segment in segments:
        run = _leading(segment) if canvas.causal and segment.offset == 0 else 0
        whole = run - run % canvas.block_length
        columns = torch.arange(segment.page.tokens)
        exact.append(replace(segment, keep=segment.keep & (columns < whole)))
        rest = columns >= (run if run else 0)
        stale.append(replace(segment, keep=segment.keep & rest))
    return _seen(exact), _seen(stale)


def _leading(segment: Segment) -> int:
    """How many columns are kept before the first that is not."""
    left_out = (~segment.keep).nonzero()
    return int(left_out[0]) if len(left_out) else segment.page.tokens


def _seen(segments: list[Segment]) -> list[Segment]:
    return [segment for segment in segments if bool(segment.keep.any())]
