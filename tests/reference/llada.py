"""A plain LLaDA forward in numpy, fp64: the yardstick for the fast path. Shares no code with ragcache.

Keys and values live in plain dicts, position by position; a forward writes those of its rows, then every row
attends to every position that the cache holds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file

Array = NDArray[np.float64]
# one dict per layer: position -> (key, value), both [kv_heads, head_dim]
Cache = list[dict[int, tuple[Array, Array]]]


def softmax(x: Array) -> Array:
    """Softmax over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    result: Array = e / e.sum(axis=-1, keepdims=True)
    return result


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """Divide by the root mean square of the last axis, then scale."""
    result: Array = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight
    return result


def rope(x: Array, position: int, theta: float) -> Array:
    """Turn `x` `[heads, head_dim]`: pair (i, i + head_dim/2) by the angle position / theta^(2i/head_dim)."""
    half = x.shape[-1] // 2
    angle = position / theta ** (np.arange(half) / half)
    left, right = x[:, :half], x[:, half:]
    return np.concatenate(
        (left * np.cos(angle) - right * np.sin(angle), right * np.cos(angle) + left * np.sin(angle)), axis=1
    )


class ReferenceModel:
    """A checkpoint folder in LLaDA's format; `reference.families` has the other families.

    `shift` is how far before a position its logits stand, `block` the length of a block-causal block.
    """

    shift = 0
    block = 0
    top_k = 0  # confidence is measured among so many tokens; 0: among all

    def __init__(self, folder: Path) -> None:
        self.config: dict[str, Any] = json.loads((folder / "config.json").read_text())
        self.heads: int = self.config["n_heads"]
        self.kv_heads: int = self.config["n_kv_heads"]
        self.mask_id: int = self.config["mask_token_id"]
        self.weights = {k: t.double().numpy() for k, t in load_file(folder / "model.safetensors").items()}

    def empty_cache(self) -> Cache:
        """A cache that holds no position."""
        return [{} for _ in range(self.config["n_layers"])]

    def linear(self, name: str, x: Array) -> Array:
        """`x` times the transposed weight, plus the bias if there is one."""
        bias = self.weights.get(f"model.transformer.{name}.bias", 0.0)
        result: Array = x @ self.weights[f"model.transformer.{name}.weight"].T + bias
        return result

    def norm(self, name: str, x: Array) -> Array:
        """RMSNorm by name."""
        return rms_norm(x, self.weights[f"model.transformer.{name}.weight"], self.config["rms_norm_eps"])

    def forward(self, ids: Sequence[int]) -> Array:
        """Logits `[n, vocabulary]` of a whole sequence at positions 0..n-1; nothing is cached."""
        return self.forward_rows(ids, range(len(ids)), self.empty_cache())

    def forward_rows(
        self,
        ids: Sequence[int],
        positions: Sequence[int],
        cache: Cache,
        raw: Cache | None = None,
        queries: list[Array] | None = None,
    ) -> Array:
        """Logits `[n, vocabulary]` of the rows at `positions`, whose K/V go to `cache`.

        `raw` receives the K before RoPE with the V, `queries` the turned queries `[n, heads, head_dim]` of
        every layer.
        """
        x = self.weights["model.transformer.wte.weight"][list(ids)]
        for layer in range(self.config["n_layers"]):
            block = f"blocks.{layer}"
            q, k, v = self.project(layer, self.norm(f"{block}.attn_norm", x))
            for row, position in enumerate(positions):
                cache[layer][position] = self.turn(k[row], position), v[row]
                if raw is not None:
                    raw[layer][position] = k[row], v[row]
            q = np.stack([self.turn(q[row], position) for row, position in enumerate(positions)])
            if queries is not None:
                queries.append(q)
            x = x + self.linear(f"{block}.attn_out", self.attend(q, positions, cache[layer]))
            x = x + self.mlp(block, self.norm(f"{block}.ff_norm", x))
        return self.head(self.norm("ln_f", x))

    def project(self, layer: int, h: Array) -> tuple[Array, Array, Array]:
        """Queries, keys and values `[n, heads, head_dim]` of one layer, before RoPE."""
        q, k, v = (
            self.linear(f"blocks.{layer}.{name}_proj", h).reshape(len(h), heads, -1)
            for name, heads in (("q", self.heads), ("k", self.kv_heads), ("v", self.kv_heads))
        )
        return q, k, v

    def turn(self, x: Array, position: int) -> Array:
        """RoPE of `x` `[heads, head_dim]`."""
        return rope(x, position, self.config["rope_theta"])

    def hidden(self, positions: Sequence[int], columns: Sequence[int]) -> Array:
        """0 where the row at a position sees a column, -inf where it does not; `[n, m]`."""
        row, column = np.array(positions)[:, None], np.array(columns)[None, :]
        later = column // self.block > row // self.block if self.block else column < row - np.inf
        return np.where(later, -np.inf, 0.0)

    def attend(self, q: Array, positions: Sequence[int], columns: dict[int, tuple[Array, Array]]) -> Array:
        """Attention of `q` `[n, heads, head_dim]` over the columns each row sees; `[n, heads * head_dim]`."""
        hidden = self.hidden(positions, list(columns))
        keys = np.stack([key for key, _ in columns.values()])
        values = np.stack([value for _, value in columns.values()])
        mixed = np.empty_like(q)
        for head in range(self.heads):
            shared = head // (self.heads // self.kv_heads)
            scores = q[:, head] @ keys[:, shared].T / np.sqrt(q.shape[-1]) + hidden
            mixed[:, head] = softmax(scores) @ values[:, shared]
        return mixed.reshape(len(q), -1)

    def mlp(self, block: str, h: Array) -> Array:
        """SwiGLU."""
        gate = self.linear(f"{block}.ff_proj", h)
        return self.linear(f"{block}.ff_out", gate / (1 + np.exp(-gate)) * self.linear(f"{block}.up_proj", h))

    def probabilities(self, logits: Array) -> Array:
        """What confidence is measured by, of one row's logits `[vocabulary]`."""
        least = np.sort(logits)[-self.top_k]  # the smallest of all for 0
        return softmax(np.where(logits >= least, logits, -np.inf))

    def head(self, hidden: Array) -> Array:
        """Vocabulary logits."""
        if self.config["weight_tying"]:
            tied: Array = hidden @ self.weights["model.transformer.wte.weight"].T
            return tied
        return self.linear("ff_out", hidden)
