"""Damaged and foreign checkpoints: each is a `CheckpointError` that names what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from ragcache.errors import CheckpointError
from ragcache.model.checkpoint import load_model, save_model
from ragcache.model.weights import INDEX, SINGLE
from reference.tiny import tiny_model

NORM, UP = "model.transformer.ln_f.weight", "model.transformer.blocks.1.up_proj.weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tiny_model(), tmp_path)
    return tmp_path


def split(folder: Path, index: Any = None) -> None:
    """Two shards `a` and `b`, with the index given or a good one."""
    tensors = load_file(folder / SINGLE)
    weight_map = {name: f"{'ab'[i % 2]}.safetensors" for i, name in enumerate(sorted(tensors))}
    for file in set(weight_map.values()):
        save_file({n: t for n, t in tensors.items() if weight_map[n] == file}, folder / file)
    (folder / SINGLE).unlink()
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map} if index is None else index))


def test_missing_tensor(folder: Path) -> None:
    tensors = load_file(folder / SINGLE)
    save_file({n: t for n, t in tensors.items() if n != NORM}, folder / SINGLE)
    with pytest.raises(CheckpointError, match=f"missing: {NORM}"):
        load_model(folder)


def test_unexpected_tensor(folder: Path) -> None:
    save_file(load_file(folder / SINGLE) | {"lora.weight": torch.zeros(1)}, folder / SINGLE)
    with pytest.raises(CheckpointError, match=r"unexpected: lora\.weight"):
        load_model(folder)


def test_a_tensor_in_two_shards(folder: Path) -> None:
    split(folder)
    for file in "ab":
        path = folder / f"{file}.safetensors"
        save_file(load_file(path) | {NORM: torch.ones(32)}, path)
    with pytest.raises(CheckpointError, match=rf"b\.safetensors: {NORM} is in a\.safetensors too"):
        load_model(folder)


def test_many_missing_tensors_are_counted(folder: Path) -> None:
    save_file({NORM: load_file(folder / SINGLE)[NORM]}, folder / SINGLE)
    with pytest.raises(CheckpointError, match=r"missing: .* and \d+ more; take config\.json"):
        load_model(folder)


def test_wrong_shape(folder: Path) -> None:
    save_file(load_file(folder / SINGLE) | {UP: torch.zeros(3, 5)}, folder / SINGLE)
    with pytest.raises(CheckpointError, match=rf"{UP} has shape \[3, 5\], config\.json says \[48, 32\]"):
        load_model(folder)


@pytest.mark.parametrize("size", [0, 5, 100, -10])
def test_truncated_file(folder: Path, size: int) -> None:
    content = (folder / SINGLE).read_bytes()
    (folder / SINGLE).write_bytes(content[:size])
    with pytest.raises(CheckpointError, match=r"model\.safetensors: not a readable safetensors file"):
        load_model(folder)


def test_truncated_shard(folder: Path) -> None:
    split(folder)
    shard = folder / "b.safetensors"
    shard.write_bytes(shard.read_bytes()[:-4])
    with pytest.raises(CheckpointError, match=r"b\.safetensors: not a readable"):
        load_model(folder)


@pytest.mark.parametrize("as_folder", [False, True])
def test_missing_shard(folder: Path, as_folder: bool) -> None:
    split(folder)
    (folder / "b.safetensors").unlink()
    if as_folder:
        (folder / "b.safetensors").mkdir()
    with pytest.raises(CheckpointError, match=r"shard b\.safetensors is named by the index but missing"):
        load_model(folder)


@pytest.mark.parametrize("shard", ["../other.safetensors", "/etc/passwd", "sub/a.safetensors", ""])
def test_shard_outside_the_folder(folder: Path, shard: str) -> None:
    split(folder, {"weight_map": {NORM: shard}})
    with pytest.raises(CheckpointError, match=r"outside the checkpoint's folder|is named by the index but"):
        load_model(folder)


@pytest.mark.parametrize(
    "index", [{}, [], 3, {"weight_map": {}}, {"weight_map": []}, {"weight_map": {NORM: ["a"]}}]
)
def test_index_of_another_form(folder: Path, index: object) -> None:
    split(folder, index)
    with pytest.raises(CheckpointError, match=r"index\.json"):
        load_model(folder)


def test_index_that_is_no_json(folder: Path) -> None:
    split(folder)
    (folder / INDEX).write_text("{")
    with pytest.raises(CheckpointError, match=r"index\.json: not a safetensors index"):
        load_model(folder)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt"])
def test_pickle_weights_are_never_read(folder: Path, name: str) -> None:
    (folder / SINGLE).rename(folder / name)
    with pytest.raises(CheckpointError, match="only pickle weights; convert them to safetensors"):
        load_model(folder)


def test_no_weights(folder: Path) -> None:
    (folder / SINGLE).unlink()
    with pytest.raises(CheckpointError, match=r"no model\.safetensors"):
        load_model(folder)


@pytest.mark.parametrize("dtype", ["int64", "bool", "float64", "float8_e4m3fn"])
def test_a_dtype_that_cannot_be_computed_in(folder: Path, dtype: str) -> None:
    tensors = load_file(folder / SINGLE)
    save_file(tensors | {UP: tensors[UP].to(getattr(torch, dtype))}, folder / SINGLE)
    with pytest.raises(CheckpointError, match=rf"{UP} is stored as (I64|BOOL|F64|F8_E4M3); convert it"):
        load_model(folder, dtype=torch.float32)


def test_mixed_dtypes_need_one_to_be_asked_for(folder: Path) -> None:
    tensors = load_file(folder / SINGLE)
    save_file(tensors | {UP: tensors[UP].bfloat16()}, folder / SINGLE)
    with pytest.raises(CheckpointError, match="the weights mix bfloat16 and float32"):
        load_model(folder)
    assert load_model(folder, dtype=torch.bfloat16).dtype == torch.bfloat16
