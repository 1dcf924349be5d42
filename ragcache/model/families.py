"""Checkpoint tensor names of each supported family, as a small table (source: docs/architecture.md)."""

from __future__ import annotations

from ragcache.model.config import ModelConfig

# ours -> LLaDA's `LLaDAModelLM` state dict; `{i}` is the layer
_LLADA_LAYER = {
    "attn_norm": "attn_norm",
    "q": "q_proj",
    "k": "k_proj",
    "v": "v_proj",
    "o": "attn_out",
    "mlp_norm": "ff_norm",
    "gate": "ff_proj",
    "up": "up_proj",
    "down": "ff_out",
}


def llada_names(config: ModelConfig) -> dict[str, str]:
    """Our parameter name -> name in a LLaDA checkpoint, for every tensor it must hold."""
    names = {"embed.weight": "model.transformer.wte.weight", "norm.weight": "model.transformer.ln_f.weight"}
    if not config.tied_head:
        names["head.weight"] = "model.transformer.ff_out.weight"
    for i in range(config.layers):
        for ours, theirs in _LLADA_LAYER.items():
            names[f"layers.{i}.{ours}.weight"] = f"model.transformer.blocks.{i}.{theirs}.weight"
            if config.qkv_bias and ours in ("q", "k", "v"):
                names[f"layers.{i}.{ours}.bias"] = f"model.transformer.blocks.{i}.{theirs}.bias"
    return names
