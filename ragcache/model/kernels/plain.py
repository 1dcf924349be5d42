"""Attention over some of the columns, in plain operations: what every other kernel is tested equal to."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.model.rope import Turn
from ragcache.model.scores import by_group, scores
from ragcache.model.visibility import hide


@dataclass(frozen=True)
class Partial:
    """Attention over some of the columns: `out` `[heads, n, head_dim]` and `lse` `[heads, n]`, fp32."""

    out: Tensor
    lse: Tensor


def attend(
    q: Tensor, keys: Tensor, values: Tensor, keep: Tensor | None = None, turn: Turn | None = None
) -> Partial:
    """Softmax attention of `q` `[heads, n, head_dim]` over `keys`/`values` `[kv_heads, m, head_dim]`.

    Columns where `keep` (`[m]`, or `[n, m]`) is False are not seen. A row that sees no column has an `lse`
    of -inf and an `out` of 0, so that the part weighs nothing in a merge. With `turn`, `q` is before RoPE.
    """
    q = q if turn is None else turn.rotate(q)
    weights = hide(scores(q, keys), keep)
    lse = torch.logsumexp(weights, dim=-1)
    weights = (weights - lse.masked_fill(lse.isinf(), 0.0)[..., None]).exp()
    out = (by_group(weights.to(values.dtype), values.shape[0]) @ values).to(torch.float32)
    return Partial(out.reshape(q.shape), lse)
