"""Training's attention: full bidirectional attention over padded rows, no KV kept."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.model.rows import LayerRows


@dataclass(frozen=True)
class DenseAttention:
    """`bias` `[rows, 1, 1, tokens]` is 0 where a key may be seen and -inf at padding."""

    bias: Tensor

    def attend(self, layer: int, rows: LayerRows, boundaries: tuple[int, ...]) -> Tensor:
        """Explicit softmax: on the CPU its backward is about twice as fast as the flash kernel's."""
        batch, tokens = self.bias.shape[0], self.bias.shape[-1]
        shaped = (t.reshape(batch, tokens, *t.shape[1:]) for t in (rows.rotated_q, rows.rotated_k, rows.v))
        q, k, v = (t.transpose(1, 2) for t in shaped)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.bias
        mixed: Tensor = torch.softmax(scores, dim=-1).to(v.dtype) @ v
        return mixed.transpose(1, 2).flatten(0, 1)
