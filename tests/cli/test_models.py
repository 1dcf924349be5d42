"""`ragcache models`: families, needs, and what is wrong with a checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

from ragcache.model.catalog import DESCRIPTION, FILES, HubModel
from ragcache.model.supported import FAMILIES
from ragcache.model.weights import SINGLE, read_headers, weight_files

from .conftest import Run


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy"))


def test_list_names_every_family(run: Run) -> None:
    result = run("models", "list")
    assert result.code == 0
    assert all(family.model_type in result.out for family in FAMILIES.values())
    families = {family["name"]: family for family in run("models", "list", "--json").json["families"]}
    assert families["sdar"]["attention"] == "block-causal"
    assert families["llada"]["attention"] == "bidirectional"
    assert all(family["source"] for family in families.values())


def test_show_reads_the_config_alone(run: Run, model: Path, tmp_path: Path) -> None:
    shutil.copy(model / "config.json", tmp_path)
    asked = ("--affix-tokens", 100, "--prompt-tokens", 20, "--max-tokens", 8, "--batch", 3, "--dtype", "bf16")
    found = run("models", "show", tmp_path, *asked, "--json").json
    per_token = 2 * 3 * 2 * 8 * 2  # K and V, layers, KV heads, elements, bytes
    assert found["kv_bytes_per_token"] == per_token
    assert found["memory"]["pages_bytes"] == 100 * per_token
    assert found["memory"]["requests_bytes"] == 3 * 128 * per_token
    assert found["memory"]["weights_bytes"] == 2 * found["parameters"]
    assert found["dtype"] == "bf16"
    shown = run("models", "show", tmp_path)
    assert shown.code == 0
    assert "kv bytes per token" in shown.out


def test_check_of_a_sound_checkpoint(run: Run, model: Path) -> None:
    assert "ok" in run("models", "check", model).out
    assert run("models", "check", model, "--headers", "--json").json["ok"] is True


def test_check_of_a_hub_id_downloads_no_weights(
    run: Run, model: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = read_headers(weight_files(model))
    (copy / SINGLE).unlink()
    asked: list[tuple[str, ...]] = []

    def fetch(self: HubModel, files: tuple[str, ...] = FILES) -> Path:
        asked.append(files)
        return copy if files == DESCRIPTION else model

    monkeypatch.setattr(HubModel, "fetch", fetch)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)  # whatever the environment says
    monkeypatch.setattr("ragcache.cli.checkpoints.remote_headers", lambda hub, folder: stored)
    found = run("models", "check", "org/name", "--json").json
    assert (found["read"], found["tensors"], asked) == ("headers", len(stored), [DESCRIPTION])
    assert run("models", "check", "org/name", "--numbers", "--json").json["read"] == "every number"
    assert asked[1:] == [FILES]
    monkeypatch.setattr("ragcache.cli.checkpoints.offline", lambda: True)  # the cache may have all of it
    assert run("models", "check", "org/name").code == 0
    assert asked[2:] == [FILES]


def test_check_of_a_hub_id_offline(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    result = run("models", "check", "org/name")
    assert (result.code, result.out) == (2, "")
    assert "is not in the cache, and HF_HUB_OFFLINE forbids a download" in result.err


def test_check_finds_numbers_that_are_none(run: Run, copy: Path) -> None:
    tensors = load_file(copy / SINGLE)
    name = "model.transformer.blocks.1.up_proj.weight"
    tensors[name][2, 3] = torch.nan
    save_file(tensors, copy / SINGLE)
    assert run("models", "check", copy, "--headers").code == 0  # headers alone cannot tell
    result = run("models", "check", copy)
    assert result.code == 2
    assert f"NaN or infinite numbers in {name}" in result.err


def test_check_says_what_is_wrong(run: Run, copy: Path) -> None:
    tensors = load_file(copy / SINGLE)
    tensors.pop("model.transformer.ln_f.weight")
    save_file(tensors, copy / SINGLE)
    result = run("models", "check", copy)
    assert (result.code, result.out) == (2, "")
    assert "missing: model.transformer.ln_f.weight" in result.err
    (copy / SINGLE).rename(copy / "pytorch_model.bin")
    assert "only pickle weights; convert them to safetensors" in run("models", "check", copy).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "no-such-model"), "unknown model 'no-such-model'"),
        (("check", "no-such-model"), "unknown model"),
        (("show", "nano", "--batch", "0"), "a batch has 1 or more requests"),
        (("show", "nano", "--dtype", "int3"), "unknown dtype 'int3'"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run("models", *arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
