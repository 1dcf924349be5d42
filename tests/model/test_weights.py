"""Weights are read shard by shard, into memory of the model's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

import ragcache.model.weights as weights
from ragcache.model.checkpoint import Checkpoint, load_model, save_model
from ragcache.model.weights import read_headers, weight_files
from reference.fast_path import Fast
from reference.gemma import write_gemma
from reference.tiny import KINDS, random_ids, tiny_model

IDS = random_ids(12, 1)
Load = Callable[[], torch.nn.Module]


@pytest.fixture(params=["ours", "diffusion_gemma"])
def sharded(request: pytest.FixtureRequest, tmp_path: Path) -> Load:
    """Loads a network of several shards, in the dtype they hold."""
    if request.param == "ours":
        save_model(tiny_model(), tmp_path, shard_bytes=10_000)
        return lambda: load_model(tmp_path)
    pytest.importorskip("transformers")
    write_gemma(tmp_path, 60, shards="20KB")
    assert len(weight_files(tmp_path)) > 2
    checkpoint = Checkpoint.open(tmp_path)
    return lambda: checkpoint.load_network(torch.float32, torch.device("cpu")).network


@pytest.mark.parametrize("kind", KINDS)
def test_shards_hold_what_one_file_holds(tmp_path: Path, kind: str) -> None:
    model = tiny_model(KINDS[kind])
    save_model(model, tmp_path, shard_bytes=10_000)
    assert len(weight_files(tmp_path)) > 2
    assert all(path.stat().st_size < 30_000 for path in weight_files(tmp_path))
    assert torch.equal(Fast(load_model(tmp_path)).logits(IDS), Fast(model).logits(IDS))


def test_one_shard_is_open_at_a_time(sharded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, most = 0, 0
    real = weights._opened

    @contextmanager
    def counting(path: Path) -> Iterator[Any]:
        nonlocal opened, most
        with real(path) as shard:
            opened += 1
            most = max(most, opened)
            yield shard
            opened -= 1

    monkeypatch.setattr(weights, "_opened", counting)
    sharded()
    assert (opened, most) == (0, 1)


def test_a_loaded_model_is_not_mapped(sharded: Load) -> None:
    """Else what is written to the files later would change it."""
    loaded = sharded()
    tensors = [*loaded.parameters(), *loaded.buffers()]
    assert all(tensor.untyped_storage().filename is None for tensor in tensors)
    assert not any(tensor.requires_grad or tensor.is_meta for tensor in tensors)


def test_headers_alone_tell_shapes_and_dtypes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(tiny_model(KINDS["llada2"]), tmp_path, dtype=torch.bfloat16)
    monkeypatch.setattr(weights, "read_tensors", lambda files: pytest.fail("weights were read"))
    checkpoint = Checkpoint.open(tmp_path)
    assert checkpoint.dtype == torch.bfloat16  # the router's fp32 does not count
    stored = read_headers(checkpoint.files)
    fused = stored["model.layers.0.attention.query_key_value.weight"]
    assert (fused.dtype, fused.shape, fused.numel) == ("BF16", (64, 32), 2048)
    assert stored["model.layers.1.mlp.gate.expert_bias"].dtype == "F32"
    assert checkpoint.size_bytes(torch.float32) == sum(4 * tensor.numel for tensor in stored.values())


def test_a_router_stays_fp32(tmp_path: Path) -> None:
    save_model(tiny_model(KINDS["llada2"]), tmp_path)
    loaded = load_model(tmp_path, dtype=torch.bfloat16)
    kinds = {".router." in name: weight.dtype for name, weight in loaded.named_parameters()}
    assert kinds == {True: torch.float32, False: torch.bfloat16}
    assert Fast(loaded).logits(IDS).dtype == torch.bfloat16
