"""Attention over the columns of one segment by PyTorch's FlexAttention, compiled on CUDA."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ragcache.model.kernels.plain import Partial
from ragcache.model.rope import Turn


def attend(
    q: Tensor, keys: Tensor, values: Tensor, keep: Tensor | None = None, turn: Turn | None = None
) -> Partial:
    """Softmax attention of `q` `[heads, n, head_dim]` over `keys`/`values` `[kv_heads, m, head_dim]`.

    All of one dtype; compiled kernels take heads of at least 16 elements. Columns where `keep` (`[m]` or
    `[n, m]` bool) is False are not seen; a row that sees none has `out` 0 and `lse` -inf. With `turn`, `q` is
    before RoPE, and a rotated copy of it is made. On the CPU nothing is compiled, and the scores are written.
    """
    (heads, n, _), m = q.shape, keys.shape[1]
    if not n or not m:  # FlexAttention refuses either
        return Partial(torch.zeros_like(q, dtype=torch.float32), q.new_full((heads, n), -math.inf).float())
    q = q if turn is None else turn.rotate(q)
    mask = None if keep is None else keep.expand(n, m)
    out, lse = (x[0].float() for x in _attention(q.is_cuda)(q[None], keys[None], values[None], mask))
    if mask is None:
        return Partial(out, lse)
    unseen = ~mask.any(dim=-1)  # what releases give for such a row differs
    return Partial(out.masked_fill(unseen[:, None], 0.0), lse.masked_fill(unseen, -math.inf))


@cache
def _attention(compiled: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    """`(q, keys, values, mask)` to output and natural log-sum-exp; made once, as compiling takes seconds."""
    from torch.nn.attention import flex_attention as flex  # loads torch's compiler

    flex_attention: Callable[..., Any] = flex.flex_attention
    # torch 2.9 has renamed how log-sum-exp is asked for
    renamed = hasattr(flex, "AuxRequest")
    wanted = {"return_aux": flex.AuxRequest(lse=True)} if renamed else {"return_lse": True}

    def attention(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        def seen(score: Tensor, _batch: Tensor, _head: Tensor, row: Tensor, column: Tensor) -> Tensor:
            assert mask is not None
            return torch.where(mask[row, column], score, -math.inf)

        hide = None if mask is None else seen
        out, more = flex_attention(q, keys, values, score_mod=hide, enable_gqa=True, **wanted)
        return out, more if isinstance(more, Tensor) else more.lse

    return torch.compile(attention, dynamic=True) if compiled else attention
