"""The mask predictor: one transformer, one forward.

Full recompute, affix encoding, probe, refresh and refine are all `MaskPredictor.forward` with other rows.
"""

from __future__ import annotations

from typing import Protocol, cast

import torch
from torch import Tensor, nn

from ragcache.model.config import ModelConfig
from ragcache.model.layers import Layer, make_layer
from ragcache.model.path import Values
from ragcache.model.ragged import ActiveRows
from ragcache.model.rope import angles
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


class MaskPredictor(nn.Module):
    """Predicts the tokens behind `[MASK]` from what its rows may see."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.embedding_rows, config.hidden_size)
        self.layers = nn.ModuleList(make_layer(config, index) for index in range(config.layers))
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
        """Where rows come in: the embedding's device."""
        return self.embed.weight.device

    @property
    def devices(self) -> tuple[torch.device, ...]:
        """Where each layer is; its KV lies beside it."""
        return tuple(cast(Layer, layer).attn_norm.weight.device for layer in self.layers)

    def kv_bytes(self, tokens: int) -> int:
        """Bytes of the keys and values of `tokens` tokens, in all layers."""
        return tokens * self.config.kv_elements_per_token * self.dtype.itemsize

    def forward(self, rows: Rows, attention: Attention, output: Tensor | None = None) -> Tensor:
        """Hidden states `[m, hidden]` of the rows with indices `output` `[m]` (all when None).

        Writes the rows' K/V into `attention`. Apply `logits` to what is to be sampled.
        """
        cos, sin = angles(rows.positions, self.config.rotary_dim, self.config.rope_theta)
        x = self.embed(rows.token_ids)
        last = self.config.layers - 1
        for index, (module, device) in enumerate(zip(self.layers, self.devices, strict=True)):
            layer = cast(Layer, module)
            if x.device != device:
                x, cos, sin, rows = x.to(device), cos.to(device), sin.to(device), rows.to(device)
            active = attention.enter(index, x, layer.values, rows.boundaries)
            if active is not None:
                x = self._some(index, layer, active, rows, (cos, sin), attention)
                continue
            projected = layer.project(x, rows.positions, cos, sin)
            attended = attention.attend(index, projected, rows.boundaries)
            if output is not None and index == last:
                chosen = output.to(device)
                x, attended = x[chosen], attended[chosen]  # nobody reads the other rows' last MLP
                output = None
            x = layer.mix(x, attended)
        x = x if output is None else x[output.to(x.device)]
        hidden: Tensor = self.norm(x.to(self.norm.weight.device))
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
