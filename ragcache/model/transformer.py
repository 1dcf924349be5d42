"""The mask predictor: one bidirectional transformer, one forward.

Full recompute, affix encoding, probe, refresh and refine are all `MaskPredictor.forward` with other rows.
"""

from __future__ import annotations

from typing import Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ragcache.model.config import ModelConfig
from ragcache.model.path import Values
from ragcache.model.ragged import ActiveRows
from ragcache.model.rope import angles, rotate
from ragcache.model.rows import LayerRows, Rows


class Attention(Protocol):
    """Where keys and values live. Implementations: `ragcache.model.ragged`, and training's dense one."""

    def enter(self, layer: int, x: Tensor, values: Values, boundaries: tuple[int, ...]) -> ActiveRows | None:
        """Which of the rows with hidden states `x` `[n, hidden]` the layer computes; None: all of them."""
        ...

    def attend(self, layer: int, rows: LayerRows, boundaries: tuple[int, ...]) -> Tensor:
        """Write the rows' K/V, then attend; `[n, heads, head_dim]`."""
        ...

    def leave(self, layer: int, active: ActiveRows, computed: Tensor, boundaries: tuple[int, ...]) -> Tensor:
        """Hidden states `[n, hidden]` of all rows after the layer."""
        ...


class Layer(nn.Module):
    """Pre-norm attention and SwiGLU MLP."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = config.heads, config.kv_heads, config.head_dim
        width, inner = config.hidden_size, config.heads * config.head_dim
        kv_width = config.kv_heads * config.head_dim
        self.attn_norm = nn.RMSNorm(width, eps=config.norm_eps)
        self.q = nn.Linear(width, inner, bias=config.qkv_bias)
        self.k = nn.Linear(width, kv_width, bias=config.qkv_bias)
        self.v = nn.Linear(width, kv_width, bias=config.qkv_bias)
        self.o = nn.Linear(inner, width, bias=False)
        self.mlp_norm = nn.RMSNorm(width, eps=config.norm_eps)
        self.gate = nn.Linear(width, config.mlp_size, bias=False)
        self.up = nn.Linear(width, config.mlp_size, bias=False)
        self.down = nn.Linear(config.mlp_size, width, bias=False)

    def values(self, x: Tensor) -> Tensor:
        """Values `[n, kv_heads, head_dim]` of the hidden states `x` `[n, hidden]`."""
        return self._values(self.attn_norm(x))

    def _values(self, normed: Tensor) -> Tensor:
        values: Tensor = self.v(normed).unflatten(-1, (self.kv_heads, self.head_dim))
        return values

    def project(self, x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor) -> LayerRows:
        """Queries, keys and values of the hidden states `x` `[n, hidden]`."""
        h = self.attn_norm(x)
        q = self.q(h).unflatten(-1, (self.heads, self.head_dim))
        k = self.k(h).unflatten(-1, (self.kv_heads, self.head_dim))
        return LayerRows(q, k, self._values(h), rotate(q, cos, sin), rotate(k, cos, sin), positions)

    def mix(self, x: Tensor, attended: Tensor) -> Tensor:
        """Residual stream after the attention output and the MLP."""
        x = x + self.o(attended.flatten(-2))
        h = self.mlp_norm(x)
        hidden: Tensor = x + self.down(F.silu(self.gate(h)) * self.up(h))
        return hidden


class MaskPredictor(nn.Module):
    """Predicts the tokens behind `[MASK]` from everything around them."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.embedding_rows, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.norm_eps)
        self.head = nn.Linear(config.hidden_size, config.embedding_rows, bias=False)
        if config.tied_head:
            self.head.weight = self.embed.weight

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of weights and KV."""
        return self.embed.weight.dtype

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embed.weight.device

    def forward(self, rows: Rows, attention: Attention, output: Tensor | None = None) -> Tensor:
        """Hidden states `[m, hidden]` of the rows with indices `output` `[m]` (all when None).

        Writes the rows' K/V into `attention`. Apply `logits` to what is to be sampled.
        """
        cos, sin = angles(rows.positions, self.config.head_dim, self.config.rope_theta)
        x = self.embed(rows.token_ids)
        last = self.config.layers - 1
        for index, module in enumerate(self.layers):
            layer = cast(Layer, module)
            active = attention.enter(index, x, layer.values, rows.boundaries)
            if active is not None:
                x = self._some(index, layer, active, rows, (cos, sin), attention)
                continue
            projected = layer.project(x, rows.positions, cos, sin)
            attended = attention.attend(index, projected, rows.boundaries)
            if output is not None and index == last:
                x, attended = x[output], attended[output]  # nobody reads the other rows' last MLP
                output = None
            x = layer.mix(x, attended)
        hidden: Tensor = self.norm(x if output is None else x[output])
        return hidden

    def _some(
        self,
        index: int,
        layer: Layer,
        active: ActiveRows,
        rows: Rows,
        turns: tuple[Tensor, Tensor],
        attention: Attention,
    ) -> Tensor:
        """One layer of the active rows; the others go by it as their path says."""
        computed = active.x[active.rows]
        if len(computed):
            cos, sin = (turn[active.rows] for turn in turns)
            projected = layer.project(computed, rows.positions[active.rows], cos, sin)
            computed = layer.mix(computed, attention.attend(index, projected, active.boundaries))
        return attention.leave(index, active, computed, rows.boundaries)

    def logits(self, hidden: Tensor) -> Tensor:
        """Vocabulary logits `[m, embedding_rows]` of hidden states `[m, hidden]`."""
        scores: Tensor = self.head(hidden)
        return scores
