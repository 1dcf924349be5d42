"""Device and dtype: what is picked, what is refused, and that a model that does not fit is not begun."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from engine.tiny_checkpoint import write_checkpoint

import ragcache.engine.placement as placement
import ragcache.model.memory as memory
from ragcache.engine import load
from ragcache.engine.placement import Device, parse_dtype, pick_devices, pick_dtype, pick_precision
from ragcache.errors import CheckpointError, ConfigError, ModelTooLargeError
from ragcache.model.checkpoint import Checkpoint, save_model
from reference.tiny import tiny_model

CPU = torch.device("cpu")


@pytest.fixture
def bf16(tmp_path: Path) -> Checkpoint:
    save_model(tiny_model(), tmp_path, dtype=torch.bfloat16)
    return Checkpoint.open(tmp_path)


def test_small_models_are_fp32_on_the_cpu(bf16: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pick_dtype(None, bf16, CPU) == torch.float32
    monkeypatch.setattr(placement, "CHEAP_BYTES", 100)
    assert pick_dtype(None, bf16, CPU) == torch.bfloat16


def test_a_dtype_the_device_lacks_is_refused_or_avoided(
    bf16: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "CHEAP_BYTES", 100)
    monkeypatch.setattr(placement, "computes_in", lambda dtype, device: dtype != torch.bfloat16)
    with pytest.raises(ConfigError, match="cpu cannot compute in bf16; use --dtype fp32"):
        pick_dtype(torch.bfloat16, bf16, CPU)
    assert pick_dtype(None, bf16, CPU) == torch.float32


def test_what_a_device_computes_in_is_tried() -> None:
    assert placement.computes_in(torch.float32, CPU)
    assert not placement.computes_in(torch.int64, CPU)


def test_dtypes_have_short_names() -> None:
    assert [parse_dtype(name) for name in ("auto", "bf16", "fp16", "fp32")] == [
        None,
        torch.bfloat16,
        torch.float16,
        torch.float32,
    ]
    with pytest.raises(ConfigError, match="unknown dtype 'int4'; use auto, bf16, fp16, fp32, int8"):
        parse_dtype("int4")


def test_layers_are_spread_over_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    spread = [str(device) for device in pick_devices("cuda:0, cuda:1", 5)]
    assert spread == ["cuda:0", "cuda:0", "cuda:0", "cuda:1", "cuda:1"]
    mapped = pick_devices({1: "cuda:1", 0: "cpu", 2: "cuda:0"}, 3)
    assert [str(device) for device in mapped] == ["cpu", "cuda:1", "cuda:0"]
    assert pick_devices("cpu", 2) == (CPU, CPU)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cpu,abacus", "unknown device 'abacus'"),
        ("cpu,", "unknown device ''"),
        ("cpu,cuda:99", "device 'cuda:99'"),
        ("cpu,cpu,cpu", "3 devices for 2 layers; name fewer"),
        ({0: "cpu"}, r"must name the layers 0 to 1, each once; not \[0\]"),
        ({0: "cpu", 2: "cpu"}, "must name the layers 0 to 1"),
        ({0: "cpu", 1: "mps"}, "device 'mps' is not supported"),
    ],
)
def test_a_placement_that_cannot_be_is_refused(device: Device, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pick_devices(device, 2)


def test_mixed_devices_compute_in_what_all_can(bf16: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = torch.device("cuda:0")
    monkeypatch.setattr(
        placement,
        "pick_dtype",
        lambda asked, model, device: torch.float32 if device == CPU else torch.bfloat16,
    )
    assert pick_precision(None, bf16, (CPU, cuda)) == (torch.float32, False)
    assert pick_precision(None, bf16, (cuda, cuda)) == (torch.bfloat16, False)


@pytest.mark.parametrize("dtype", ["bf16", torch.bfloat16])
def test_a_dtype_is_followed(tmp_path: Path, dtype: torch.dtype | str) -> None:
    loaded = load(str(write_checkpoint(tmp_path)), device="cpu", dtype=dtype)
    assert loaded.predictor.dtype == torch.bfloat16
    assert loaded.key((1, 2)).dtype == "bfloat16"


def test_too_little_memory_is_said_before_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_checkpoint(tmp_path)
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1000)
    monkeypatch.setattr(Checkpoint, "parameters_of", lambda *given: pytest.fail("weights were read"))
    with pytest.raises(ModelTooLargeError, match=r"the weights need 0\.0 GiB, and cpu has 0\.0") as found:
        load(str(folder), device="cpu")
    assert found.value.needed_bytes > found.value.free_bytes == 1000


def test_a_tokenizer_of_another_model_is_refused_before_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_checkpoint(tmp_path)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["zzz"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    monkeypatch.setattr(Checkpoint, "load", lambda *given: pytest.fail("weights were read"))
    with pytest.raises(CheckpointError, match=r"5001 tokens, the model only \d+ embedding rows"):
        load(str(folder), device="cpu")
