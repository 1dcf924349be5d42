"""The other families, in the same plain way: their tensors under LLaDA's names, and what is their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file

from reference.llada import Array, ReferenceModel, rms_norm

# piece of a tensor's name -> the same in LLaDA's words
WORDS = {
    "model.embed_tokens": "model.transformer.wte",
    "model.word_embeddings": "model.transformer.wte",
    "model.norm": "model.transformer.ln_f",
    "lm_head": "model.transformer.ff_out",
    "model.layers": "model.transformer.blocks",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm",
    "self_attn.o_proj": "attn_out",
    "self_attn.": "",
    "attention.dense": "attn_out",
    "attention.query_layernorm": "q_norm",
    "attention.key_layernorm": "k_norm",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
}


def reference_model(folder: Path) -> ReferenceModel:
    """The plain model of a checkpoint folder."""
    kind = json.loads((folder / "config.json").read_text())["model_type"]
    return {"llada": ReferenceModel, "Dream": Dream, "sdar": SDAR, "llada2_moe": LLaDA2}[kind](folder)


class QwenLike(ReferenceModel):
    """Qwen2's field names."""

    def __init__(self, folder: Path) -> None:
        raw: dict[str, Any] = json.loads((folder / "config.json").read_text())
        self.raw, self.mask_id = raw, int(raw["mask_token_id"])
        self.heads, self.kv_heads = int(raw["num_attention_heads"]), int(raw["num_key_value_heads"])
        self.config = {
            "n_layers": raw["num_hidden_layers"],
            "rope_theta": raw["rope_theta"],
            "rms_norm_eps": raw["rms_norm_eps"],
            "weight_tying": raw["tie_word_embeddings"],
        }
        self.weights = {}
        for name, tensor in load_file(folder / "model.safetensors").items():
            for theirs, ours in WORDS.items():
                name = name.replace(theirs, ours)
            self.weights[name] = tensor.double().numpy()


class Dream(QwenLike):
    """The token at position i is read from the output at i - 1."""

    shift = 1
    top_k = 50


class SDAR(QwenLike):
    """Block-causal; queries and keys are normed before RoPE, head by head."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.block = int(self.raw["block_size"])

    def project(self, layer: int, h: Array) -> tuple[Array, Array, Array]:
        q, k, v = self.unnormed(layer, h)
        names = (f"model.transformer.blocks.{layer}.{name}_norm.weight" for name in "qk")
        eps = self.config["rms_norm_eps"]
        normed = [rms_norm(x, self.weights[name], eps) for x, name in zip((q, k), names, strict=True)]
        return normed[0], normed[1], v

    def unnormed(self, layer: int, h: Array) -> tuple[Array, Array, Array]:
        return super().project(layer, h)


class LLaDA2(SDAR):
    """One matrix for queries, keys and values; RoPE on a part of each head; experts in later layers."""

    def unnormed(self, layer: int, h: Array) -> tuple[Array, Array, Array]:
        dim = self.raw["head_dim"]
        heads = self.linear(f"blocks.{layer}.attention.query_key_value", h).reshape(len(h), -1, dim)
        q, k, v = np.split(heads, [self.heads, self.heads + self.kv_heads], axis=1)
        return q, k, v

    def turn(self, x: Array, position: int) -> Array:
        turned = int(x.shape[-1] * self.raw["partial_rotary_factor"])
        return np.concatenate((super().turn(x[:, :turned], position), x[:, turned:]), axis=1)

    def mlp(self, block: str, h: Array) -> Array:
        if int(block.split(".")[1]) < self.raw["first_k_dense_replace"]:
            return super().mlp(block, h)
        return np.stack([self.mixture(f"{block}.mlp", row) for row in h])

    def mixture(self, name: str, h: Array) -> Array:
        """All shared experts and the chosen ones, for one row `[hidden]`."""
        raw, prefix = self.raw, f"model.transformer.{name}"
        scores = 1 / (1 + np.exp(-(self.weights[f"{prefix}.gate.weight"] @ h)))
        choice = scores + self.weights[f"{prefix}.gate.expert_bias"]
        groups = np.split(np.arange(len(choice)), raw["n_group"])
        groups.sort(key=lambda group: -np.sort(choice[group])[-2:].sum())
        allowed = [e for group in groups[: raw["topk_group"]] for e in group]
        chosen = sorted(allowed, key=lambda e: -choice[e])[: raw["num_experts_per_tok"]]
        added = self.swiglu(f"{name}.shared_experts", h)
        for e in chosen:
            weight = raw["routed_scaling_factor"] * scores[e] / sum(scores[i] for i in chosen)
            added = added + weight * self.swiglu(f"{name}.experts.{e}", h)
        return added

    def swiglu(self, name: str, h: Array) -> Array:
        gate = self.linear(f"{name}.gate_proj", h)
        up = self.linear(f"{name}.up_proj", h)
        return self.linear(f"{name}.down_proj", gate / (1 + np.exp(-gate)) * up)
