"""Architecture of a mask predictor, read from a checkpoint's `config.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragcache.errors import CheckpointError

LARGEST_SIZE = 2**24  # keeps every product of two sizes within what torch can count


@dataclass(frozen=True)
class ModelConfig:
    """One bidirectional transformer with rotate-half RoPE, RMSNorm and a SwiGLU MLP.

    Sizes are in elements, `max_tokens` is the window (prompt and canvas together) in tokens.
    """

    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp_size: int
    embedding_rows: int
    max_tokens: int
    rope_theta: float
    norm_eps: float
    qkv_bias: bool
    tied_head: bool
    mask_id: int
    eos_id: int
    pad_id: int

    def __post_init__(self) -> None:
        sizes = "hidden_size", "layers", "heads", "kv_heads", "mlp_size", "embedding_rows", "max_tokens"
        for name in sizes:
            if getattr(self, name) < 1:
                raise CheckpointError(f"config: {name} must be at least 1, not {getattr(self, name)}")
            if getattr(self, name) > LARGEST_SIZE:
                raise CheckpointError(f"config: {name} is over {LARGEST_SIZE}, which no model has")
        if self.heads % self.kv_heads:
            raise CheckpointError(
                f"config: {self.heads} attention heads cannot share {self.kv_heads} KV heads; fix n_kv_heads"
            )
        if self.head_dim % 2:
            raise CheckpointError(f"config: head_dim {self.head_dim} is odd; RoPE needs pairs")
        for field, token in (("mask_token_id", self.mask_id), ("eos_token_id", self.eos_id)):
            if not 0 <= token < self.embedding_rows:
                raise CheckpointError(
                    f"config: {field} {token} lies outside the {self.embedding_rows} embedding rows"
                )
        for name in ("rope_theta", "norm_eps"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise CheckpointError(
                    f"config: {name} must be positive and finite, not {getattr(self, name)}"
                )

    @property
    def kv_elements_per_token(self) -> int:
        """KV elements stored per token (multiply by the dtype's size for bytes)."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    @property
    def rope(self) -> str:
        """Canonical RoPE settings: part of every affix key."""
        return json.dumps({"style": "rotate_half", "theta": self.rope_theta, "dim": self.head_dim})

    def canonical(self) -> str:
        """Stable text of all fields, for fingerprints."""
        return json.dumps(asdict(self), sort_keys=True)


def read_config(folder: Path) -> ModelConfig:
    """Read `config.json` of a checkpoint folder.

    Raises `CheckpointError` that names the missing file or field, or the unsupported `model_type`.
    """
    path = folder / "config.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: no config.json; is this a checkpoint folder?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(raw, dict):
        raise CheckpointError(f"{path}: must hold one JSON object")
    readers = {"llada": _llada}
    model_type = str(raw.get("model_type"))
    if model_type not in readers:
        raise CheckpointError(
            f"{path}: model_type {model_type!r} is not supported; known: {', '.join(readers)}"
        )
    try:
        return readers[model_type](raw)
    except KeyError as error:
        raise CheckpointError(
            f"{path}: field {error} is missing; take it from the original checkpoint"
        ) from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CheckpointError(f"{path}: a field has the wrong type ({error})") from error


# fields that change what the weights mean, and the only value supported
_LLADA_SUPPORTED = {
    "block_type": "llama",
    "alibi": False,
    "rope": True,
    "layer_norm_type": "rms",
    "activation_type": "silu",
    "input_emb_norm": False,
    "scale_logits": False,
}


def _llada(raw: Mapping[str, Any]) -> ModelConfig:
    """LLaDA-8B's field names (OLMo-like); every field is read, none is guessed."""
    for field, wanted in _LLADA_SUPPORTED.items():
        if raw.get(field, wanted) != wanted:
            raise CheckpointError(f"config.json: {field}={raw[field]!r} is not supported, only {wanted!r}")
    heads = int(raw["n_heads"])
    return ModelConfig(
        hidden_size=int(raw["d_model"]),
        layers=int(raw["n_layers"]),
        heads=heads,
        kv_heads=int(raw["n_kv_heads"] or heads),
        head_dim=int(raw["d_model"]) // heads,
        mlp_size=int(raw["mlp_hidden_size"]),
        embedding_rows=int(raw["embedding_size"] or raw["vocab_size"]),
        max_tokens=int(raw["max_sequence_length"]),
        rope_theta=float(raw["rope_theta"]),
        norm_eps=float(raw["rms_norm_eps"]),
        qkv_bias=bool(raw["include_qkv_bias"]),
        tied_head=bool(raw["weight_tying"]),
        mask_id=int(raw["mask_token_id"]),
        eos_id=int(raw["eos_token_id"]),
        pad_id=int(raw["pad_token_id"]),
    )
