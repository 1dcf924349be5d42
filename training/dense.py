"""Training's attention: full bidirectional attention over padded rows, no KV kept; and its pointer loss."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ragcache.model.path import Values
from ragcache.model.ragged import ActiveRows
from ragcache.model.rows import LayerRows
from training.data import Batch

HIDDEN = -1e4  # finite, so that a row that may not see what it is taught to see has a gradient of 0


@dataclass(frozen=True)
class DenseAttention:
    """`bias` `[rows, 1, tokens, tokens]` is 0 where a row may see a key and `HIDDEN` where not.

    `looks` receives the scores `[rows, tokens, tokens]` of the heads `taught` = ((layer, head), ...), which
    are in order of layers.
    """

    bias: Tensor
    taught: tuple[tuple[int, int], ...] = ()
    looks: list[Tensor] = field(default_factory=list)

    def enter(self, layer: int, x: Tensor, values: Values, boundaries: tuple[int, ...]) -> None:
        """Every layer computes every row."""

    def leave(self, layer: int, active: ActiveRows, computed: Tensor, boundaries: tuple[int, ...]) -> Tensor:
        """Never needed: see `enter`."""
        raise NotImplementedError

    def attend(self, layer: int, rows: LayerRows, boundaries: tuple[int, ...]) -> Tensor:
        """Explicit softmax: on the CPU its backward is about twice as fast as the flash kernel's."""
        batch, tokens = self.bias.shape[0], self.bias.shape[-1]
        shaped = (t.reshape(batch, tokens, *t.shape[1:]) for t in (rows.rotated_q, rows.rotated_k, rows.v))
        q, k, v = (t.transpose(1, 2) for t in shaped)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.bias
        self.looks.extend(scores[:, head] for at, head in self.taught if at == layer)
        mixed: Tensor = torch.softmax(scores, dim=-1).to(v.dtype) @ v
        return mixed.transpose(1, 2).flatten(0, 1)


def visibility(batch: Batch) -> Tensor:
    """Attention bias `[rows, 1, tokens, tokens]`: no padding, stale tokens see their own affix only, and the
    tokens of a branch are seen by that branch only."""
    own = batch.affixes[:, :, None] == batch.affixes[:, None, :]
    seen = batch.valid[:, None, :] & (own | ~batch.stale[:, :, None])
    keys = batch.branches[:, None, :]
    seen &= (keys == 0) | (keys == batch.branches[:, :, None])
    return torch.where(seen, 0.0, HIDDEN)[:, None]


def pointer_loss(scores: Tensor, pointing: Tensor, sources: Tensor) -> Tensor:
    """Mean -log of the attention that the rows `pointing` `[p]` pay to their `sources` `[p, s]` (-1: none).

    `scores` `[rows, tokens, tokens]` before the softmax. Rows without any source count for nothing.
    """
    known = sources >= 0
    attention = torch.log_softmax(scores.flatten(0, 1)[pointing].float(), dim=-1)
    there = attention.gather(1, sources.clamp(min=0)).masked_fill(~known, HIDDEN)
    kept = there.amax(dim=-1) > HIDDEN / 2
    losses = torch.where(kept, -torch.logsumexp(there, dim=-1), 0.0)
    return losses.sum() / kept.sum().clamp(min=1)
