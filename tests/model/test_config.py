from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragcache.errors import CheckpointError
from ragcache.model.config import ExpertsConfig
from ragcache.model.config_file import raw_config, read_config
from ragcache.model.layout import layout
from reference.tiny import CONFIGS, GOLDEN, GOLDEN_DREAM, KINDS

RAW: dict[str, Any] = json.loads((GOLDEN / "config.json").read_text())


def written(folder: Path, raw: object) -> Path:
    (folder / "config.json").write_text(json.dumps(raw))
    return folder


def test_reads_llada_fields() -> None:
    config = read_config(GOLDEN)
    assert (config.hidden_size, config.layers, config.heads, config.head_dim) == (64, 4, 4, 16)
    assert (config.mask_id, config.eos_id, config.embedding_rows) == (198, 197, 199)
    assert config.rope_theta == 500000.0
    assert config.kv_elements_per_token == 2 * 4 * 4 * 16


def test_fields_that_llada_1_5_leaves_out_follow_from_others(tmp_path: Path) -> None:
    derived = (
        "n_kv_heads",
        "embedding_size",
        "mlp_hidden_size",
        "include_qkv_bias",
        "weight_tying",
        "pad_token_id",
    )
    raw = {name: value for name, value in RAW.items() if name not in derived}
    config = read_config(written(tmp_path, raw | {"mlp_ratio": 2.5}))
    assert config == read_config(GOLDEN)


def test_reads_dream_fields(tmp_path: Path) -> None:
    config = read_config(GOLDEN_DREAM)
    assert (config.hidden_size, config.layers, config.heads, config.kv_heads) == (64, 4, 4, 2)
    assert (config.logits_shift, config.qkv_bias, config.causal_block) == (True, True, 0)
    raw = json.loads((GOLDEN_DREAM / "config.json").read_text())
    del raw["rope_theta"]
    with pytest.raises(CheckpointError, match="'rope_theta' is missing"):
        read_config(written(tmp_path, raw))
    nested = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}, "eos_token_id": [209, 3]}
    assert read_config(written(tmp_path, raw | nested)) == config
    stretched = {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6}}
    with pytest.raises(CheckpointError, match="rope_type='yarn' is not supported"):
        read_config(written(tmp_path, raw | stretched))


# what the real checkpoints' config.json say, as far as it matters; sizes are the published ones
LLADA_8B = {
    "model_type": "llada", "block_type": "llama", "d_model": 4096, "n_layers": 32, "n_heads": 32,
    "n_kv_heads": 32, "mlp_hidden_size": 12288, "max_sequence_length": 4096, "vocab_size": 126464,
    "embedding_size": 126464, "rope_theta": 500000.0, "rms_norm_eps": 1e-5, "mask_token_id": 126336,
    "eos_token_id": 126081, "pad_token_id": 126081, "weight_tying": False, "include_bias": False,
}  # fmt: skip
DREAM_7B = {
    "model_type": "Dream", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "intermediate_size": 18944, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
    "vocab_size": 152064, "max_position_embeddings": 131072, "mask_token_id": 151666, "eos_token_id": 151643,
    "pad_token_id": 151643, "tie_word_embeddings": False, "hidden_act": "silu", "rope_scaling": None,
}  # fmt: skip
SDAR_4B = {
    "model_type": "sdar", "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 9728, "vocab_size": 151936,
    "max_position_embeddings": 32768, "rope_theta": 1000000, "rms_norm_eps": 1e-6, "attention_bias": False,
    "tie_word_embeddings": True, "eos_token_id": 151643, "hidden_act": "silu", "rope_scaling": None,
}  # fmt: skip
LLADA2_MINI = {
    "model_type": "llada2_moe", "hidden_size": 2048, "num_hidden_layers": 20, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 5120, "vocab_size": 157184,
    "max_position_embeddings": 32768, "rope_theta": 600000, "rms_norm_eps": 1e-6, "use_qkv_bias": False,
    "tie_word_embeddings": False, "pad_token_id": 156892, "partial_rotary_factor": 0.5, "num_experts": 256,
    "num_experts_per_tok": 8, "moe_intermediate_size": 512, "num_shared_experts": 1, "n_group": 8,
    "first_k_dense_replace": 1, "topk_group": 4, "routed_scaling_factor": 2.5, "score_function": "sigmoid",
}  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "parameters", "kv_bytes"),
    [(LLADA_8B, 8_015_581_184, 524_288), (DREAM_7B, 7_615_616_512, 57_344)],
    ids=["LLaDA-8B", "Dream-7B"],
)
def test_the_published_sizes_come_out(
    tmp_path: Path, raw: dict[str, Any], parameters: int, kv_bytes: int
) -> None:
    config = read_config(written(tmp_path, raw))
    shapes, _, _ = layout(config)
    assert sum(shape.numel() for shape in shapes.values()) == parameters
    assert 2 * config.kv_elements_per_token == kv_bytes  # of a token, in bf16
    assert (config.mask_id, config.head_dim) == (raw["mask_token_id"], 128)


def test_reads_block_causal_families(tmp_path: Path) -> None:
    sdar = read_config(written(tmp_path, SDAR_4B))
    assert (sdar.causal_block, sdar.mask_id, sdar.qk_norm, sdar.qkv_bias) == (4, 151669, True, False)
    assert sdar.heads * sdar.head_dim == 4096  # wider than the hidden states
    llada2 = read_config(written(tmp_path, LLADA2_MINI))
    assert (llada2.causal_block, llada2.mask_id, llada2.rotary_dim) == (32, 156895, 64)
    assert llada2.experts == ExpertsConfig(256, 8, 512, 1, 1, 8, 4, 2.5)
    assert read_config(written(tmp_path, SDAR_4B | {"block_size": 16})).causal_block == 16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_experts": 255}, "255 experts cannot form 8 groups"),
        ({"topk_group": 9}, "9 groups a token, of 8"),
        ({"num_experts_per_tok": 200}, "200 experts a token"),
        ({"num_experts_per_tok": 0}, "per_token of a mixture"),
        ({"num_shared_experts": -1}, "cannot be fewer than 0"),
        ({"score_function": "softmax"}, "score_function='softmax'"),
        ({"partial_rotary_factor": 0.0}, "nothing RoPE can turn"),
        ({"block_size": -4}, "a causal block of -4"),
    ],
)
def test_a_wrong_mixture_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        read_config(written(tmp_path, LLADA2_MINI | change))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_again(tmp_path: Path, kind: str) -> None:
    assert read_config(written(tmp_path, raw_config(KINDS[kind], "float32"))) == KINDS[kind]


def test_a_switch_that_is_off_leaves_no_trace_in_fingerprints() -> None:
    assert "causal_block" not in KINDS["mha"].canonical()  # older fingerprints stay valid
    assert len({config.canonical() for config in KINDS.values()}) == len(KINDS)


def test_null_kv_heads_and_embedding_size_fall_back(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, RAW | {"n_kv_heads": None, "embedding_size": None}))
    assert config.kv_heads == 4
    assert config.embedding_rows == 199


@pytest.mark.parametrize(
    "field", ["d_model", "n_layers", "n_heads", "rope_theta", "mask_token_id", "max_sequence_length"]
)
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    raw = {name: value for name, value in RAW.items() if name != field}
    with pytest.raises(CheckpointError, match=f"'{field}' is missing"):
        read_config(written(tmp_path, raw))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, "model_type 'gpt2' is not supported; known: llada"),
        ({"model_type": None}, "model_type None is not supported; known: llada"),
        (
            {"model_type": "gpt9", "auto_map": {"AutoModel": "modeling_gpt9.GPT9"}},
            r"'gpt9' is not supported and its own code \(auto_map\) is never run; known: llada .*Dream ",
        ),
        ({"alibi": True}, "alibi=True"),
        ({"rope": False}, "rope=False"),
        ({"layer_norm_type": "default"}, "layer_norm_type='default'"),
        ({"activation_type": "gelu"}, "activation_type='gelu'"),
        ({"block_type": "sequential"}, "block_type='sequential'"),
        ({"scale_logits": True}, "scale_logits=True"),
        ({"input_emb_norm": True}, "input_emb_norm=True"),
        ({"n_layers": "many"}, "wrong type"),
        ({"n_layers": 2.5}, "2.5 is no whole number"),
        ({"n_layers": True}, "True is no whole number"),
        ({"weight_tying": "false"}, "'false' is neither true nor false"),
        ({"rope_theta": None}, "'rope_theta' is null"),
        ({"n_heads": 0}, "wrong type"),
        ({"n_layers": -1}, "layers must be at least 1"),
        ({"d_model": 10**400}, "hidden_size is over"),
        ({"n_kv_heads": 3}, "4 attention heads cannot share 3 KV heads"),
        ({"d_model": 60}, "head_dim 15 is odd"),
        ({"mask_token_id": 199}, "mask_token_id 199 lies outside"),
        ({"eos_token_id": -1}, "eos_token_id -1 lies outside"),
        ({"rope_theta": 0}, "rope_theta must be positive"),
        ({"rms_norm_eps": float("nan")}, "norm_eps must be positive"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        read_config(written(tmp_path, RAW | change))


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe", b"[1]", b"[" * 5000], ids=len)
def test_a_corrupt_file_is_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        read_config(tmp_path)


def test_no_config_file(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        read_config(tmp_path)


def test_texts_for_keys_are_stable_and_tell_settings_apart() -> None:
    config = CONFIGS["mha"]
    assert config.canonical() == replace(config).canonical()
    assert config.canonical() != replace(config, norm_eps=1e-6).canonical()
    assert config.rope != replace(config, rope_theta=5e5).rope
