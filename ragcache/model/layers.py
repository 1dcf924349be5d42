"""One layer of the transformer: pre-norm attention, then a SwiGLU MLP or a mixture of them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ragcache.model.config import ExpertsConfig, ModelConfig
from ragcache.model.rope import rotate
from ragcache.model.rows import LayerRows


class Layer(nn.Module):
    """Pre-norm attention; subclasses add the MLP."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = config.heads, config.kv_heads, config.head_dim
        width, inner = config.hidden_size, config.heads * config.head_dim
        kv_width = config.kv_heads * config.head_dim
        self.attn_norm = nn.RMSNorm(width, eps=config.norm_eps)
        self.q = nn.Linear(width, inner, bias=config.qkv_bias)
        self.k = nn.Linear(width, kv_width, bias=config.qkv_bias)
        self.v = nn.Linear(width, kv_width, bias=config.qkv_bias)
        self.q_norm = _head_norm(config)
        self.k_norm = _head_norm(config)
        self.o = nn.Linear(inner, width, bias=False)
        self.mlp_norm = nn.RMSNorm(width, eps=config.norm_eps)

    def mlp(self, normed: Tensor) -> Tensor:
        """What the layer adds to the residual stream, of `normed` `[n, hidden]`."""
        raise NotImplementedError

    def values(self, x: Tensor) -> Tensor:
        """Values `[n, kv_heads, head_dim]` of the hidden states `x` `[n, hidden]`."""
        return self._values(self.attn_norm(x))

    def _values(self, normed: Tensor) -> Tensor:
        values: Tensor = self.v(normed).unflatten(-1, (self.kv_heads, self.head_dim))
        return values

    def project(self, x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor) -> LayerRows:
        """Queries, keys and values of the hidden states `x` `[n, hidden]`."""
        return LayerRows(*self.heads_of(x, cos, sin), positions)

    def heads_of(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """`q`, `k`, `v`, `rotated_q` and `rotated_k` of `LayerRows`."""
        h = self.attn_norm(x)
        q = self.q_norm(self.q(h).unflatten(-1, (self.heads, self.head_dim)))
        k = self.k_norm(self.k(h).unflatten(-1, (self.kv_heads, self.head_dim)))
        return q, k, self._values(h), rotate(q, cos, sin), rotate(k, cos, sin)

    def mix(self, x: Tensor, attended: Tensor) -> Tensor:
        """Residual stream after the attention output and the MLP."""
        x = x + self.o(attended.flatten(-2))
        return x + self.mlp(self.mlp_norm(x))


class DenseLayer(Layer):
    """With one SwiGLU MLP."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.gate = nn.Linear(config.hidden_size, config.mlp_size, bias=False)
        self.up = nn.Linear(config.hidden_size, config.mlp_size, bias=False)
        self.down = nn.Linear(config.mlp_size, config.hidden_size, bias=False)

    def mlp(self, normed: Tensor) -> Tensor:
        """See `Layer`."""
        return _swiglu(normed, self.gate, self.up, self.down)


class SwiGLU(nn.Module):
    """One expert."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, normed: Tensor) -> Tensor:
        """`[n, hidden]` to `[n, hidden]`."""
        return _swiglu(normed, self.gate, self.up, self.down)


class Router(nn.Module):
    """Chooses experts by sigmoid scores, in fp32 (DeepSeek-V3, arXiv 2412.19437: groups, and a bias)."""

    def __init__(self, width: int, config: ExpertsConfig) -> None:
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(config.experts, width, dtype=torch.float32))
        self.bias = nn.Parameter(torch.empty(config.experts, dtype=torch.float32))
        nn.init.normal_(self.weight, std=width**-0.5)
        nn.init.zeros_(self.bias)

    def forward(self, normed: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and indices `[n, per_token]` of the experts for `normed` `[n, hidden]`."""
        scores = F.linear(normed.float(), self.weight.float()).sigmoid()
        choice = self._within_groups(scores + self.bias.float())
        chosen = choice.topk(self.config.per_token, dim=-1).indices
        weights = scores.gather(-1, chosen)
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
        return weights * self.config.scale, chosen

    def _within_groups(self, choice: Tensor) -> Tensor:
        """`choice` `[n, experts]`, -inf outside each row's best groups; a group counts by its two best."""
        groups = self.config.groups
        grouped = choice.reshape(len(choice), groups, self.config.experts // groups)
        best = grouped.topk(2, dim=-1).values.sum(-1).topk(self.config.groups_per_token, dim=-1).indices
        left_out = torch.ones(grouped.shape[:-1], dtype=torch.bool, device=choice.device)
        left_out.scatter_(-1, best, False)
        return grouped.masked_fill(left_out[..., None], float("-inf")).reshape(choice.shape)


class ExpertsLayer(Layer):
    """With a mixture of experts; the shared ones are one wider MLP."""

    def __init__(self, config: ModelConfig, experts: ExpertsConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.router = Router(width, experts)
        self.experts = nn.ModuleList(SwiGLU(width, experts.size) for _ in range(experts.experts))
        self.shared = SwiGLU(width, experts.size * experts.shared) if experts.shared else None

    def mlp(self, normed: Tensor) -> Tensor:
        """See `Layer`. A row's result depends on that row alone, whatever shares the forward."""
        weights, chosen = self.router(normed)
        added = torch.zeros_like(normed) if self.shared is None else self.shared(normed)
        for expert in chosen.unique().tolist():
            row, slot = (chosen == expert).nonzero(as_tuple=True)
            weighed = self.experts[expert](normed[row]) * weights[row, slot, None].to(normed.dtype)
            added = added.index_add(0, row, weighed)
        return added


def _swiglu(normed: Tensor, gate: nn.Module, up: nn.Module, down: nn.Module) -> Tensor:
    added: Tensor = down(F.silu(gate(normed)) * up(normed))
    return added


def _head_norm(config: ModelConfig) -> nn.Module:
    """RMSNorm over one head's elements, where the model has it."""
    return nn.RMSNorm(config.head_dim, eps=config.norm_eps) if config.qk_norm else nn.Identity()


def make_layer(config: ModelConfig, index: int) -> Layer:
    """Layer number `index`."""
    if config.experts is None or index < config.experts.dense_layers:
        return DenseLayer(config)
    return ExpertsLayer(config, config.experts)


def kept_in_fp32(name: str) -> bool:
    """Whether our parameter `name` stays fp32 in a model of another dtype: routing is decided by a hair."""
    return name.startswith("layers.") and ".router." in name
