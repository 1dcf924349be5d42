"""Checkpoints that cannot be used: one line that says what is wrong and what to do, and exit code 2."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

import ragcache.engine.placement as placement
import ragcache.model.memory as memory
from ragcache.model.checkpoint import Checkpoint
from ragcache.model.weights import INDEX, SINGLE

from .conftest import Result, Run

pytestmark = pytest.mark.usefixtures("words")
NORM = "model.transformer.ln_f.weight"
Harm = Callable[[Path], None]


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy"))


def sharded(folder: Path) -> None:
    tensors = load_file(folder / SINGLE)
    weight_map = {name: f"{'ab'[i % 2]}.safetensors" for i, name in enumerate(sorted(tensors))}
    for file in set(weight_map.values()):
        save_file({n: t for n, t in tensors.items() if weight_map[n] == file}, folder / file)
    (folder / SINGLE).unlink()
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}))


def remote_code(folder: Path) -> None:
    raw = json.loads((folder / "config.json").read_text())
    raw |= {"model_type": "gpt9", "auto_map": {"AutoModel": "modeling_gpt9.GPT9"}}
    (folder / "config.json").write_text(json.dumps(raw))
    (folder / "modeling_gpt9.py").write_text("raise SystemExit('remote code was run')")


def unknown_type(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"}))


def pickled(folder: Path) -> None:
    (folder / SINGLE).rename(folder / "pytorch_model.bin")


def truncated(folder: Path) -> None:
    sharded(folder)
    shard = folder / "b.safetensors"
    shard.write_bytes(shard.read_bytes()[:-4])


def missing_shard(folder: Path) -> None:
    sharded(folder)
    (folder / "b.safetensors").unlink()


def missing_tensor(folder: Path) -> None:
    tensors = load_file(folder / SINGLE)
    save_file({name: tensor for name, tensor in tensors.items() if name != NORM}, folder / SINGLE)


def large_vocabulary(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["zzz"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


HARMS: dict[Harm, tuple[str, ...]] = {
    remote_code: ("'gpt9' is not supported", "its own code (auto_map) is never run", "known: llada", "Dream"),
    unknown_type: ("model_type 'gpt2' is not supported", "known: llada", "sdar", "llada2_moe"),
    pickled: ("only pickle weights; convert them to safetensors first", "save_pretrained"),
    truncated: ("b.safetensors: not a readable safetensors file", "download it again"),
    missing_shard: ("shard b.safetensors is named by the index but missing; download it",),
    missing_tensor: (f"missing: {NORM}", "from the same checkpoint"),
    large_vocabulary: ("5001 tokens, the model only 300", "belongs to another model"),
}


def refused(result: Result, *parts: str) -> None:
    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err
    line = result.err.splitlines()[-1]
    assert line.startswith("error: ")
    for part in parts:
        assert part in line


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_ask_and_check_name_the_fault(run: Run, copy: Path, docs: Path, store: Path, harm: Harm) -> None:
    harm(copy)
    refused(run("models", "check", copy), *HARMS[harm])
    asked = run("ask", "What?", "--docs", docs, "--store", store, "--model", copy, "--max-tokens", 4)
    refused(asked, *HARMS[harm])
    if harm is not large_vocabulary:  # raw token ids need no tokenizer
        refused(run("generate", "--model", copy, "--cases", "none.jsonl"), *HARMS[harm])


def test_too_little_memory_is_said_with_both_sizes(
    run: Run, copy: Path, docs: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1000)
    monkeypatch.setattr(Checkpoint, "_read", lambda *given: pytest.fail("weights were read"))
    result = run("ask", "What?", "--docs", docs, "--store", store, "--model", copy)
    refused(result, "the weights need 0.0 GiB", "has 0.0 GiB free", "Use --dtype bf16, another --device")


def test_a_dtype_that_the_device_lacks(
    run: Run, copy: Path, docs: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "computes_in", lambda dtype, device: False)
    asked = ("ask", "What?", "--docs", docs, "--store", store, "--model", copy)
    refused(run(*asked, "--dtype", "fp16"), "cpu cannot compute in fp16; use --dtype fp32")
    refused(run(*asked, "--dtype", "fp8"), "unknown dtype 'fp8'; use auto, bf16, fp16, fp32, int8")
