"""Layers on several devices: rows go to the layer, and its KV lies beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import ragcache.model.memory as memory
from ragcache.decoding.denoise import DecodingOptions
from ragcache.devices import of_layers
from ragcache.errors import ModelTooLargeError
from ragcache.model.attention import GatherKV
from ragcache.model.blank import blank
from ragcache.model.checkpoint import Checkpoint, save_model
from ragcache.model.config import ModelConfig
from ragcache.model.ragged import RaggedKV
from ragcache.model.rows import Rows
from ragcache.model.transformer import MaskPredictor
from ragcache.reuse.policy import parse_policy
from reference.fast_path import BACKENDS, Fast, Parts, backend_named
from reference.tiny import KINDS, random_ids, tiny_model

CPU = torch.device("cpu")
PARTS: Parts = [(True, random_ids(9, 1)), (False, random_ids(4, 2)), (True, random_ids(7, 3))]
OPTIONS = DecodingOptions(8, 4)
ONE, OTHER = torch.device("cuda:0"), torch.device("cuda:1")


def spread(config: ModelConfig, devices: tuple[torch.device, ...]) -> MaskPredictor:
    """A model of fake tensors: torch checks their devices as it would those of real ones."""
    with blank():
        model = MaskPredictor(config)
    state = {}
    for name, parameter in model.named_parameters():
        layer = int(name.split(".")[1]) if name.startswith("layers.") else 0 if "embed" in name else -1
        state[name] = torch.empty(parameter.shape, device=devices[layer])
    model.load_state_dict(state, assign=True)
    return model.requires_grad_(False).eval()


def test_one_device_is_that_of_all_layers() -> None:
    assert of_layers(CPU, 3) == (CPU, CPU, CPU)
    assert of_layers((ONE, OTHER, OTHER), 2) == (ONE, OTHER)


@pytest.mark.parametrize("kind", ["gqa-bias", "dream", "sdar"])
def test_rows_go_to_their_layer(kind: str) -> None:
    one, other = torch.device("cpu:0"), torch.device("cpu:1")  # those that every build of torch can imagine
    devices = (one, other, one)
    config = KINDS[kind]
    with FakeTensorMode(), torch.inference_mode():
        model = spread(config, devices)
        assert model.devices == devices
        kv = GatherKV(config, 6, (), torch.float32, model.devices)
        assert [keys.device for keys in kv.keys] == [values.device for values in kv.values] == list(devices)
        places = torch.arange(6, device=one)
        rows = Rows.single(places, places)
        hidden = model(rows, RaggedKV([kv]), torch.tensor([1, 2], device=one))
        assert model.logits(hidden).shape == (2, config.embedding_rows)
        assert model.logits(model(rows, RaggedKV([kv]))).device == one


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("split", [(CPU, CPU, CPU), pytest.param((CPU, ONE, ONE), marks=pytest.mark.gpu)])
def test_placement_changes_no_answer(tmp_path: Path, split: tuple[torch.device, ...], backend: str) -> None:
    save_model(tiny_model(), tmp_path)
    checkpoint = Checkpoint.open(tmp_path)
    whole, mapped = checkpoint.load(None, CPU), checkpoint.load(None, split)
    assert mapped.devices == split
    for name in ("full", "acache@0.3", "depth=2+acache@0.3"):
        one, other = (
            Fast(model, backend_named(backend)).answer(PARTS, parse_policy(name), OPTIONS)
            for model in (whole, mapped)
        )
        assert one == other


def test_every_device_needs_room_for_its_own_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(KINDS["gqa"], tied_head=True)
    save_model(tiny_model(config), tmp_path)
    checkpoint = Checkpoint.open(tmp_path)
    asked: list[tuple[str, int]] = []

    def free(device: torch.device) -> int:
        asked.append((str(device), 0))
        return 10**9 if device == ONE else 1000

    monkeypatch.setattr(memory, "free_bytes", free)
    with pytest.raises(ModelTooLargeError, match="cuda:1 has") as found:
        checkpoint.load(None, (ONE, OTHER, OTHER))
    layer = sum(p.numel() for p in tiny_model(config).layers[1].parameters())
    # a tied head lies beside the embedding, the last norm with it
    assert found.value.needed_bytes == 2 * 4 * layer
    assert [device for device, _ in asked] == ["cuda:0", "cuda:1"]
