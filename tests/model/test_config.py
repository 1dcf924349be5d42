from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragcache.errors import CheckpointError
from ragcache.model.config_file import read_config
from reference.tiny import CONFIGS, GOLDEN

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


def test_null_kv_heads_and_embedding_size_fall_back(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, RAW | {"n_kv_heads": None, "embedding_size": None}))
    assert config.kv_heads == 4
    assert config.embedding_rows == 199


@pytest.mark.parametrize(
    "field", ["d_model", "n_layers", "n_kv_heads", "rope_theta", "mask_token_id", "include_qkv_bias"]
)
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    raw = {name: value for name, value in RAW.items() if name != field}
    with pytest.raises(CheckpointError, match=f"'{field}' is missing"):
        read_config(written(tmp_path, raw))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, "model_type 'gpt2' is not supported; known: llada"),
        ({"model_type": None}, "model_type 'None'"),
        ({"alibi": True}, "alibi=True"),
        ({"rope": False}, "rope=False"),
        ({"layer_norm_type": "default"}, "layer_norm_type='default'"),
        ({"activation_type": "gelu"}, "activation_type='gelu'"),
        ({"block_type": "sequential"}, "block_type='sequential'"),
        ({"scale_logits": True}, "scale_logits=True"),
        ({"input_emb_norm": True}, "input_emb_norm=True"),
        ({"n_layers": "many"}, "wrong type"),
        ({"mlp_hidden_size": None}, "wrong type"),
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
