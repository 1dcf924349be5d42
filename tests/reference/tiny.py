"""Tiny random models for tests, and the golden checkpoint's folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from ragcache.model.config import ExpertsConfig, ModelConfig
from ragcache.model.transformer import MaskPredictor

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "llada-a"
GOLDEN_DREAM = GOLDEN.parent / "dream-a"

_BASE = ModelConfig(
    hidden_size=32,
    layers=3,
    heads=4,
    kv_heads=4,
    head_dim=8,
    mlp_size=48,
    embedding_rows=60,
    max_tokens=256,
    rope_theta=10000.0,
    norm_eps=1e-5,
    qkv_bias=False,
    tied_head=False,
    mask_id=59,
    eos_id=58,
    pad_id=58,
)
# every way heads can share keys and values, without and with biases
CONFIGS = {
    "mha": _BASE,
    "gqa": replace(_BASE, kv_heads=2),
    "mqa": replace(_BASE, kv_heads=1),
    "mha-bias": replace(_BASE, qkv_bias=True),
    "gqa-bias": replace(_BASE, kv_heads=2, qkv_bias=True),
    "mqa-bias": replace(_BASE, kv_heads=1, qkv_bias=True),
}

# one of every other family; a head need not be hidden_size / heads wide
FAMILIES = {
    "dream": replace(_BASE, family="dream", logits_shift=True, qkv_bias=True, kv_heads=2, norm_eps=1e-6),
    "sdar": replace(_BASE, family="sdar", causal_block=4, qk_norm=True, kv_heads=2, head_dim=12),
    "llada2": replace(
        _BASE,
        family="llada2",
        causal_block=4,
        qk_norm=True,
        partial_rotary=0.5,
        kv_heads=2,
        experts=ExpertsConfig(
            6, 2, size=24, shared=1, dense_layers=1, groups=3, groups_per_token=2, scale=2.5
        ),
    ),
}
# every way of sharing, and biases where config.json may ask for them, in these families too
VARIANTS = {
    "dream-mha": replace(FAMILIES["dream"], kv_heads=4),
    "dream-mqa": replace(FAMILIES["dream"], kv_heads=1),
    "sdar-mha": replace(FAMILIES["sdar"], kv_heads=4),
    "sdar-mqa-bias": replace(FAMILIES["sdar"], kv_heads=1, qkv_bias=True),
    "llada2-mha-bias": replace(FAMILIES["llada2"], kv_heads=4, qkv_bias=True),
    "llada2-mqa": replace(FAMILIES["llada2"], kv_heads=1),
}
KINDS = CONFIGS | FAMILIES | VARIANTS


def tiny_model(config: ModelConfig = CONFIGS["gqa-bias"], seed: int = 0) -> MaskPredictor:
    """Random weights, scaled so that attention is uneven and answers have clear favourites."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = MaskPredictor(config)
        for name, weight in model.named_parameters():
            if "norm" in name:
                torch.nn.init.uniform_(weight, 0.5, 1.5)
            elif name.endswith("router.bias"):
                torch.nn.init.uniform_(weight, -0.2, 0.2)
            elif ".q." in name or ".k." in name:
                weight.data.mul_(3.0)
            elif name == "head.weight":
                weight.data.mul_(5.0)
    return model.requires_grad_(False).eval()


def random_ids(count: int, seed: int, vocabulary: int = 58) -> list[int]:
    """Token ids below the special ones."""
    generator = torch.Generator().manual_seed(seed)
    ids: list[int] = torch.randint(vocabulary, (count,), generator=generator).tolist()
    return ids
