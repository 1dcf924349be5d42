"""Round trips, single and sharded; the fingerprint follows the weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ragcache.model.checkpoint import load_model, save_model
from ragcache.model.config_file import read_config
from ragcache.model.fingerprint import fingerprint
from ragcache.model.weights import INDEX, SINGLE, weight_files
from reference.fast_path import BACKENDS, Fast, backend_named
from reference.tiny import CONFIGS, FAMILIES, GOLDEN, GOLDEN_DREAM, KINDS, random_ids, tiny_model

IDS = random_ids(20, 1)


def shard(folder: Path, count: int = 3) -> dict[str, str]:
    """Split `model.safetensors` into shards with an index; the weight map."""
    tensors = load_file(folder / SINGLE)
    names = [f"model-{i + 1:05}-of-{count:05}.safetensors" for i in range(count)]
    weight_map = {name: names[i % count] for i, name in enumerate(sorted(tensors))}
    for file in names:
        save_file({name: t for name, t in tensors.items() if weight_map[name] == file}, folder / file)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / SINGLE).unlink()
    return weight_map


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("folder", [GOLDEN, GOLDEN_DREAM], ids=lambda folder: folder.name)
def test_golden_logits(folder: Path, backend: str) -> None:
    case = json.loads((folder / "golden.json").read_text())[0]
    logits = Fast(load_model(folder), backend_named(backend)).logits(case["input_ids"])
    wanted = torch.tensor(case["logits"])
    torch.testing.assert_close(logits[case["rows"]], wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("kind", ["gqa-bias", "mha", "tied", *FAMILIES])
def test_round_trip(tmp_path: Path, kind: str, sharded: bool) -> None:
    model = tiny_model(KINDS.get(kind, replace(CONFIGS["gqa"], tied_head=True)))
    save_model(model, tmp_path)
    if sharded:
        shard(tmp_path)
        assert len(weight_files(tmp_path)) == 3
    loaded = load_model(tmp_path)
    assert loaded.config == model.config
    assert not loaded.training
    assert not any(weight.requires_grad for weight in loaded.parameters())
    assert torch.equal(Fast(loaded).logits(IDS), Fast(model).logits(IDS))


def test_a_tied_head_is_stored_once_and_shared(tmp_path: Path) -> None:
    save_model(tiny_model(replace(CONFIGS["mha"], tied_head=True)), tmp_path)
    assert "model.transformer.ff_out.weight" not in load_file(tmp_path / SINGLE)
    loaded = load_model(tmp_path, dtype=torch.bfloat16)
    assert loaded.head.weight is loaded.embed.weight


def test_bf16_storage(tmp_path: Path) -> None:
    model = tiny_model()
    save_model(model, tmp_path, dtype=torch.bfloat16)
    assert json.loads((tmp_path / "config.json").read_text())["torch_dtype"] == "bfloat16"
    assert load_model(tmp_path).dtype == torch.bfloat16
    wide = load_model(tmp_path, dtype=torch.float32)
    assert torch.equal(wide.embed.weight, model.embed.weight.bfloat16().float())


def test_fingerprint_follows_weights_and_architecture(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "same", "weight", "architecture")]
    for folder in folders:
        model = tiny_model()
        if folder.name == "weight":
            model.get_parameter("layers.1.gate.weight")[3, 4] += 1e-3
        save_model(model, folder)
    config = json.loads((folders[3] / "config.json").read_text())
    (folders[3] / "config.json").write_text(json.dumps(config | {"rope_theta": 5e5}))
    one, same, weight, architecture = (fingerprint(f, read_config(f)) for f in folders)
    assert one == same
    assert len({one, weight, architecture}) == 3


def test_fingerprint_covers_every_shard(tmp_path: Path) -> None:
    save_model(tiny_model(), tmp_path)
    shard(tmp_path)
    before = fingerprint(tmp_path, read_config(tmp_path))
    last = weight_files(tmp_path)[-1]
    tensors = load_file(last)
    name = next(iter(tensors))
    save_file(tensors | {name: tensors[name] + 1e-3}, last)
    assert fingerprint(tmp_path, read_config(tmp_path)) != before
