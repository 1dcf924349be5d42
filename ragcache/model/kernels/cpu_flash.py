"""torch's flash attention on the CPU, which also gives the log-sum-exp; for bf16 it uses AMX if there is."""

from __future__ import annotations

import torch
from torch import Tensor

from ragcache.model.kernels.plain import Partial
from ragcache.model.rope import Turn

_FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu


def attend(
    q: Tensor, keys: Tensor, values: Tensor, keep: Tensor | None = None, turn: Turn | None = None
) -> Partial:
    """See `ragcache.model.kernels.plain.attend`.

    The query heads that share a KV head are a batch over the same keys: a view, nothing is repeated.
    """
    (heads, n, dim), (kv_heads, m, _) = q.shape, keys.shape
    if not n or not m:  # torch's kernel would divide by zero, which ends the process
        nothing = q.new_zeros(q.shape, dtype=torch.float32)
        return Partial(nothing, q.new_full((heads, n), float("-inf"), dtype=torch.float32))
    q = q if turn is None else turn.rotate(q)
    groups = heads // kv_heads
    grouped = q.view(kv_heads, groups, n, dim).transpose(0, 1)
    columns = (t.expand(groups, *t.shape) for t in (keys, values))
    out, lse = _FLASH(grouped, *columns, attn_mask=None if keep is None else _bias(keep, q.dtype))
    out, lse = (t.transpose(0, 1).flatten(0, 1).to(torch.float32) for t in (out, lse))
    if keep is not None:  # the kernel says 0 where no column is seen
        lse = lse.masked_fill(~keep.any(dim=-1), float("-inf"))
    return Partial(out, lse)


def _bias(keep: Tensor, dtype: torch.dtype) -> Tensor:
    """What to add to the scores: `[1, 1, 1 or n, m]`, -inf in columns that are not seen."""
    bias = torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill_(~keep, float("-inf"))
    return bias.expand(1, 1, -1, -1) if keep.ndim > 1 else bias[None, None, None]
