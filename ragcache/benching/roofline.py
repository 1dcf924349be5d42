"""What full refreshes achieve, beside plain matrix products of the same shapes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ragcache.model.config import ModelConfig
from ragcache.model.transformer import MaskPredictor

REPEATS = 7


@dataclass(frozen=True)
class Roofline:
    """Operations a second: of full refresh forwards, and of products `[rows, width] x [width, mlp]`."""

    refresh_flops_per_s: float
    matmul_flops_per_s: float
    rows: int
    dtype: str

    @property
    def share(self) -> float:
        """What refreshes reach of what products alone do."""
        return self.refresh_flops_per_s / self.matmul_flops_per_s


def forward_flops(config: ModelConfig, rows: int, sampled: int) -> int:
    """Operations of one forward of `rows` that see each other; a multiplication and an addition are two.

    Past the attention of its last layer only the `sampled` rows are computed. In a mixture of experts those
    of a token count.
    """
    heads, kv_heads = config.heads * config.head_dim, config.kv_heads * config.head_dim
    experts = config.experts
    mlp = config.mlp_size if experts is None else experts.size * (experts.per_token + experts.shared)
    project = 2 * config.hidden_size * (heads + 2 * kv_heads) + 4 * rows * heads
    mix = 2 * heads * config.hidden_size + 6 * config.hidden_size * mlp
    head = 2 * config.hidden_size * config.embedding_rows
    return config.layers * rows * project + ((config.layers - 1) * rows + sampled) * mix + sampled * head


def roofline(predictor: MaskPredictor, refresh_s: Sequence[float], rows: int, sampled: int) -> Roofline:
    """Of refreshes over `rows` that took `refresh_s`; the products are measured now (median of 7)."""
    config = predictor.config
    achieved = forward_flops(config, rows, sampled) / statistics.median(refresh_s)
    name = str(predictor.dtype).removeprefix("torch.")
    return Roofline(achieved, matmul_flops_per_s(predictor, rows), rows, name)


def matmul_flops_per_s(predictor: MaskPredictor, rows: int, repeats: int = REPEATS) -> float:
    """Of products `[rows, width] x [width, mlp]` in the model's dtype, on its device."""
    config = predictor.config
    x = torch.randn(rows, config.hidden_size, dtype=predictor.dtype, device=predictor.device)
    weight = torch.randn(config.mlp_size, config.hidden_size, dtype=predictor.dtype, device=predictor.device)
    times = []
    with torch.inference_mode():
        for _ in range(repeats + 1):
            started = time.perf_counter()
            F.linear(x, weight)
            if x.is_cuda:
                torch.cuda.synchronize()
            times.append(time.perf_counter() - started)
    return 2 * rows * config.hidden_size * config.mlp_size / statistics.median(times[1:])
