"""Attention scores themselves, for whoever looks at them: attention does not keep them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows
from ragcache.model.visibility import hide

# Scores made at a time: what a core's cache holds; elsewhere enough to keep the device busy.
CPU_SCORES, DEVICE_SCORES = 2**18, 2**26


def scores_of(reads: Reads, layer: int, rows: LayerRows, index: Tensor) -> Iterator[Tensor]:
    """Scaled fp32 scores `[some heads, a, m]` of the rows that `index` `[a]` picks, head after head.

    Columns are in the order of `reads.positions` `[m]`; -inf where a row does not see them.
    """
    q = rows.q[index].transpose(0, 1)
    parts = [(rows.rotated_q[index].transpose(0, 1), reads.own(layer)[0], _picked(reads.seen, index))]
    for read in reads.shared:
        turned = read.turn.take(index).rotate(q)
        parts.append((turned, read.page.keys[layer], _picked(read.seen, index)))
    kv_heads = len(parts[0][1])
    groups, most = len(q) // kv_heads, CPU_SCORES if q.device.type == "cpu" else DEVICE_SCORES
    step = max(1, most // max(1, groups * len(index) * len(reads.positions)))
    for first in range(0, kv_heads, step):
        some = slice(first * groups, (first + step) * groups)
        made = [hide(scores(own[some], keys[first : first + step]), seen) for own, keys, seen in parts]
        yield torch.cat(made, dim=-1) if len(made) > 1 else made[0]


def scores(q: Tensor, keys: Tensor) -> Tensor:
    """Scaled fp32 scores `[heads, n, m]` of `q` `[heads, n, dim]` over `keys` `[kv_heads, m, dim]`."""
    flat = by_group(q, keys.shape[0]) @ keys.transpose(-1, -2)
    scale: float = q.shape[-1] ** -0.5
    return flat.to(torch.float32).mul_(scale).reshape(*q.shape[:2], keys.shape[1])


def by_group(x: Tensor, kv_heads: int) -> Tensor:
    """`x` `[heads, n, m]` as `[kv_heads, heads / kv_heads * n, m]`: the rows of each KV head together."""
    heads, n, m = x.shape
    return x.reshape(kv_heads, heads // kv_heads * n, m)


def _picked(seen: Tensor | None, index: Tensor) -> Tensor | None:
    return seen if seen is None or seen.ndim == 1 else seen[index]
