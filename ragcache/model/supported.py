"""The supported families.

Sources: the checkpoints' own `config.json` and state dicts, as docs/architecture.md lists them. Block sizes
and mask ids that a `config.json` leaves out are those of the model cards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ragcache.model.families import Family, Raw, Sources, Tensors


def _known(value: Any) -> Callable[[Raw], Any]:
    return lambda raw: value


def _first_id(name: str) -> Callable[[Raw], Any]:
    """A token id that some files give as a list."""

    def find(raw: Raw) -> Any:
        value = raw[name]
        return value[0] if isinstance(value, list) and value else value

    return find


# attention's projections, called the same by LLaDA and Qwen2
_PROJECTIONS: Mapping[str, str] = {
    f"{part}_proj.{kind}": f"{part}.{kind}" for part in ("q", "k", "v") for kind in ("weight", "bias")
}

_LLADA_FIELDS: Mapping[str, Sources] = {
    "hidden_size": ("d_model",),
    "layers": ("n_layers",),
    "heads": ("n_heads",),
    "kv_heads": ("n_kv_heads", "n_heads"),
    "head_dim": (lambda raw: raw["d_model"] // raw["n_heads"],),
    "mlp_size": ("mlp_hidden_size", lambda raw: raw["mlp_ratio"] * raw["d_model"]),
    "embedding_rows": ("embedding_size", "vocab_size"),
    "max_tokens": ("max_sequence_length",),
    "rope_theta": ("rope_theta",),
    "norm_eps": ("rms_norm_eps",),
    # a wrong guess here shows: tensors are missing or left over
    "qkv_bias": ("include_qkv_bias", _known(False)),
    "tied_head": ("weight_tying", _known(False)),
    "mask_id": ("mask_token_id",),
    "eos_id": ("eos_token_id",),
    "pad_id": ("pad_token_id", "eos_token_id"),
}

_LLADA_TENSORS: Tensors = {
    "model.transformer.wte.weight": ("embed.weight",),
    "model.transformer.ln_f.weight": ("norm.weight",),
    "model.transformer.ff_out.weight": ("head.weight",),
    **{
        f"model.transformer.blocks.{{i}}.{theirs}": (f"layers.{{i}}.{ours}",)
        for theirs, ours in {
            "attn_norm.weight": "attn_norm.weight",
            **_PROJECTIONS,
            "attn_out.weight": "o.weight",
            "ff_norm.weight": "mlp_norm.weight",
            "ff_proj.weight": "gate.weight",
            "up_proj.weight": "up.weight",
            "ff_out.weight": "down.weight",
        }.items()
    },
}

# Qwen2's names, which Dream, SDAR and (but for the attention) LLaDA 2.x share
_QWEN_FIELDS: Mapping[str, Sources] = {
    "hidden_size": ("hidden_size",),
    "layers": ("num_hidden_layers",),
    "heads": ("num_attention_heads",),
    "kv_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim", lambda raw: raw["hidden_size"] // raw["num_attention_heads"]),
    "mlp_size": ("intermediate_size",),
    "embedding_rows": ("vocab_size",),
    "max_tokens": ("max_position_embeddings",),
    "rope_theta": ("rope_theta",),
    "norm_eps": ("rms_norm_eps",),
    "tied_head": ("tie_word_embeddings",),
    "mask_id": ("mask_token_id",),
    "eos_id": (_first_id("eos_token_id"),),
    "pad_id": ("pad_token_id", _first_id("eos_token_id")),
}

_QWEN_ONLY: Raw = {
    "hidden_act": "silu",
    "rope_scaling": None,
    "rope_type": "default",
    "use_sliding_window": False,
}

_QWEN_MLP: Tensors = {
    "model.norm.weight": ("norm.weight",),
    "lm_head.weight": ("head.weight",),
    **{
        f"model.layers.{{i}}.{theirs}.weight": (f"layers.{{i}}.{ours}.weight",)
        for theirs, ours in {
            "input_layernorm": "attn_norm",
            "post_attention_layernorm": "mlp_norm",
            "mlp.gate_proj": "gate",
            "mlp.up_proj": "up",
            "mlp.down_proj": "down",
        }.items()
    },
}

_QWEN_TENSORS: Tensors = {
    **_QWEN_MLP,
    "model.embed_tokens.weight": ("embed.weight",),
    **{
        f"model.layers.{{i}}.self_attn.{theirs}": (f"layers.{{i}}.{ours}",)
        for theirs, ours in {
            **_PROJECTIONS,
            "o_proj.weight": "o.weight",
            "q_norm.weight": "q_norm.weight",
            "k_norm.weight": "k_norm.weight",
        }.items()
    },
}

_LLADA2_TENSORS: Tensors = {
    **_QWEN_MLP,
    "model.word_embeddings.weight": ("embed.weight",),
    **{
        f"model.layers.{{i}}.attention.{theirs}": tuple(f"layers.{{i}}.{name}" for name in ours)
        for theirs, ours in {
            "query_key_value.weight": ("q.weight", "k.weight", "v.weight"),
            "query_key_value.bias": ("q.bias", "k.bias", "v.bias"),
            "dense.weight": ("o.weight",),
            "query_layernorm.weight": ("q_norm.weight",),
            "key_layernorm.weight": ("k_norm.weight",),
        }.items()
    },
    "model.layers.{i}.mlp.gate.weight": ("layers.{i}.router.weight",),
    "model.layers.{i}.mlp.gate.expert_bias": ("layers.{i}.router.bias",),
    **{
        f"model.layers.{{i}}.mlp.{theirs}.{part}_proj.weight": (f"layers.{{i}}.{ours}.{part}.weight",)
        for theirs, ours in {"experts.{e}": "experts.{e}", "shared_experts": "shared"}.items()
        for part in ("gate", "up", "down")
    },
}

_FAMILIES = (
    Family(
        name="llada",
        model_type="llada",
        architecture="LLaDAModelLM",
        examples="GSAI-ML/LLaDA-8B-Base, GSAI-ML/LLaDA-8B-Instruct, GSAI-ML/LLaDA-1.5",
        fields=_LLADA_FIELDS,
        only={
            "block_type": "llama",
            "alibi": False,
            "rope": True,
            "layer_norm_type": "rms",
            "activation_type": "silu",
            "input_emb_norm": False,
            "scale_logits": False,
            "include_bias": False,
            "attention_layer_norm": False,
        },
        tensors=_LLADA_TENSORS,
        stops=("<|eot_id|>", "<|im_end|>"),
    ),
    Family(
        name="dream",
        model_type="Dream",
        architecture="DreamModel",
        examples="Dream-org/Dream-v0-Base-7B, Dream-org/Dream-v0-Instruct-7B, apple/DiffuCoder-7B-cpGRPO",
        fields=_QWEN_FIELDS,
        only=_QWEN_ONLY,
        tensors=_QWEN_TENSORS,
        stops=("<|im_end|>",),
        switches={"logits_shift": True, "qkv_bias": True},
    ),
    Family(
        name="sdar",
        model_type="sdar",
        architecture="SDARForCausalLM",
        examples="JetLM/SDAR-1.7B-Chat, JetLM/SDAR-4B-Chat, JetLM/SDAR-8B-Chat",
        fields={
            **_QWEN_FIELDS,
            "qkv_bias": ("attention_bias", _known(False)),
            "mask_id": ("mask_token_id", _known(151669)),
            "causal_block": ("block_size", "block_length", _known(4)),
        },
        only=_QWEN_ONLY,
        tensors=_QWEN_TENSORS,
        stops=("<|im_end|>",),
        switches={"qk_norm": True},
    ),
    Family(
        name="llada2",
        model_type="llada2_moe",
        architecture="LLaDA2MoeModelLM",
        examples="inclusionAI/LLaDA2.0-mini, inclusionAI/LLaDA2.1-mini, inclusionAI/LLaDA2.0-flash",
        fields={
            **_QWEN_FIELDS,
            "qkv_bias": ("use_qkv_bias", _known(False)),
            "mask_id": ("mask_token_id", _known(156895)),
            "eos_id": (_first_id("eos_token_id"), _known(156892)),
            "pad_id": ("pad_token_id", _known(156892)),
            "causal_block": ("block_size", "block_length", _known(32)),
            "partial_rotary": ("partial_rotary_factor",),
        },
        only={
            **_QWEN_ONLY,
            "use_bias": False,
            "use_qk_norm": True,
            "use_rmsnorm": True,
            "score_function": "sigmoid",
            "norm_topk_prob": True,
            "moe_router_enable_expert_bias": True,
        },
        tensors=_LLADA2_TENSORS,
        stops=("<|role_end|>", "<|im_end|>"),
        switches={"qk_norm": True},
        expert_fields={
            "experts": ("num_experts",),
            "per_token": ("num_experts_per_tok",),
            "size": ("moe_intermediate_size",),
            "shared": ("num_shared_experts", _known(0)),
            "dense_layers": ("first_k_dense_replace", _known(0)),
            "groups": ("n_group", _known(1)),
            "groups_per_token": ("topk_group", _known(1)),
            "scale": ("routed_scaling_factor",),
        },
    ),
    Family(
        name="diffusion_gemma",
        model_type="diffusion_gemma",
        architecture="DiffusionGemmaForBlockDiffusion",
        examples="google/diffusiongemma-26B-A4B-it",
        fields={},
        only={},
        tensors={},
        stops=("<turn|>", "<end_of_turn>"),
        upstream=True,
    ),
)
FAMILIES: Mapping[str, Family] = MappingProxyType({family.name: family for family in _FAMILIES})
MODEL_TYPES: Mapping[str, Family] = MappingProxyType({family.model_type: family for family in _FAMILIES})
