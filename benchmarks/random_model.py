"""A LLaDA-architecture model with random weights: the cost of a real one, without its answers."""

from __future__ import annotations

import torch

from ragcache.model.config import ModelConfig
from ragcache.model.transformer import MaskPredictor


def random_llada(*, layers: int = 12, width: int = 768, dtype: torch.dtype = torch.bfloat16) -> MaskPredictor:
    """About 138 M parameters at the defaults (85 M in the layers), heads of 64, vocabulary 32,768."""
    config = ModelConfig(
        hidden_size=width, layers=layers, heads=width // 64, kv_heads=width // 64, head_dim=64,
        mlp_size=width * 8 // 3, embedding_rows=32_768, max_tokens=8192, rope_theta=500_000.0, norm_eps=1e-5,
        qkv_bias=False, tied_head=False, mask_id=32_767, eos_id=32_766, pad_id=32_766,
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device("meta"):
        model = MaskPredictor(config)
    model = model.to_empty(device="cpu").to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0) if parameter.ndim == 1 else parameter.normal_(0.0, 0.02)
    return model.requires_grad_(False).eval()
