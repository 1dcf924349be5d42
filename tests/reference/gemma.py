"""DiffusionGemma, tiny and random, written by transformers itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

CANVAS = 8
WINDOW = 6


def tiny_gemma(rows: int, seed: int = 0) -> Any:
    """Two sliding layers and a full one, whose heads differ; what stands elsewhere changes every logit."""
    import transformers

    config = transformers.DiffusionGemmaConfig(
        text_config={
            "vocab_size": rows,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "global_head_dim": 16,
            "num_global_key_value_heads": 1,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
            "sliding_window": WINDOW,
            "max_position_embeddings": 512,
            "num_experts": 4,
            "top_k_experts": 2,
            "moe_intermediate_size": 16,
            "initializer_range": 0.3,
            "eos_token_id": 0,
            "pad_token_id": 0,
            "bos_token_id": None,
        },
        vision_config={
            "model_type": "gemma4_vision",
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 8,
        },
        canvas_length=CANVAS,
        initializer_range=0.3,
        image_token_id=rows - 1,
        boi_token_id=rows - 2,
        eoi_token_id=rows - 3,
    )
    torch.manual_seed(seed)
    network = transformers.DiffusionGemmaForBlockDiffusion(config).eval()
    network.generation_config.max_denoising_steps = 5
    return network


def write_gemma(folder: Path, rows: int, seed: int = 0, shards: str = "1GB") -> Path:
    """A checkpoint folder without a tokenizer; shards are of so many bytes at most."""
    tiny_gemma(rows, seed).save_pretrained(folder, max_shard_size=shards)
    return folder
