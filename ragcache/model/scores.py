"""Attention scores themselves, for whoever looks at them: attention does not keep them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows
from ragcache.model.visibility import both

# Scores made at a time: what a core's cache holds; elsewhere enough to keep the device busy.
CPU_SCORES, DEVICE_SCORES = 2**18, 2**26


def scores_of(
    reads: Reads, layer: int, rows: LayerRows, index: Tensor, among: Tensor | None = None
) -> Iterator[Tensor]:
    """Scaled scores `[some heads, a, m]` of the rows that `index` `[a]` picks, head after head.

    In the rows' dtype. Columns are in the order of `reads.positions` `[m]`; -inf where a row does not see
    them, or where `among` `[m]` bool leaves them out.
    """
    scale: float = rows.q.shape[-1] ** -0.5
    q = rows.q[index].transpose(0, 1)
    every = [(rows.rotated_q[index].transpose(0, 1), reads.own(layer)[0], reads.seen)]
    every += [(read.turn.take(index).rotate(q), read.page.keys[layer], read.seen) for read in reads.shared]
    kv_heads = every[0][1].shape[0]
    lengths = [keys.shape[1] for _, keys, _ in every]
    counted = [None] * len(every) if among is None else torch.split(among, lengths)
    parts = [
        (by_group(own * scale, kv_heads), keys, _bias(own, keys, both(_picked(seen, index), part)))
        for (own, keys, seen), part in zip(every, counted, strict=True)
    ]
    most = CPU_SCORES if q.device.type == "cpu" else DEVICE_SCORES
    step = max(1, most // max(1, parts[0][0].shape[1] * sum(lengths)))
    for first in range(0, kv_heads, step):
        some = slice(first, first + step)
        made = [
            torch.baddbmm(bias.expand(len(own[some]), -1, -1), own[some], keys[some].transpose(-1, -2))
            for own, keys, bias in parts
        ]
        joined = torch.cat(made, dim=-1) if len(made) > 1 else made[0]
        yield joined.reshape(-1, len(index), joined.shape[-1])


def _bias(q: Tensor, keys: Tensor, seen: Tensor | None) -> Tensor:
    """What is added to scores `[kv_heads, groups * a, m]`, so that they are -inf where nothing is seen.

    As a matrix product takes it: a pass over all scores of its own would cost as much as the product.
    """
    heads, count, _ = q.shape
    if seen is None:
        return q.new_zeros(1, keys.shape[1]).expand(heads // len(keys) * count, -1)
    bias = q.new_zeros(seen.shape).masked_fill_(~seen, float("-inf"))
    return bias.expand(heads // len(keys), count, -1).reshape(-1, keys.shape[1])


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
