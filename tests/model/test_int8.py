"""Weights rounded to int8: how far off, how small, and what is left as it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ragcache.engine.placement import pick_precision
from ragcache.errors import CheckpointError, MissingDependencyError
from ragcache.model.attention import GatherKV
from ragcache.model.checkpoint import Checkpoint, save_model
from ragcache.model.layout import size_bytes
from ragcache.model.ragged import RaggedKV
from ragcache.model.rows import Rows
from ragcache.model.transformer import MaskPredictor
from reference.tiny import KINDS, random_ids, tiny_model

CPU = torch.device("cpu")


def logits(model: MaskPredictor) -> Tensor:
    ids = torch.tensor(random_ids(20, 3))
    kv = GatherKV(model.config, len(ids), (), model.dtype, model.device)
    with torch.inference_mode():
        return model.logits(model(Rows.single(ids, torch.arange(len(ids))), RaggedKV([kv])))


def test_without_torchao_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(tiny_model(), tmp_path)
    monkeypatch.setitem(sys.modules, "torchao", None)
    monkeypatch.setitem(sys.modules, "torchao.quantization", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragcache-dllm\[int8\]'"):
        Checkpoint.open(tmp_path).load(None, CPU, int8=True)


def test_int8_is_computed_in_what_the_device_likes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(tiny_model(), tmp_path, dtype=torch.bfloat16)
    checkpoint = Checkpoint.open(tmp_path)
    assert pick_precision(torch.int8, checkpoint, [CPU]) == (torch.float32, True)
    assert pick_precision(torch.bfloat16, checkpoint, [CPU]) == (torch.bfloat16, False)
    monkeypatch.setattr("ragcache.engine.placement.pick_dtype", lambda *given: torch.float16)
    assert pick_precision(torch.int8, checkpoint, [CPU]) == (torch.float32, True)


def test_size_is_known_beforehand() -> None:
    shapes = {"layers.0.q.weight": torch.Size((6, 4)), "embed.weight": torch.Size((5, 4))}
    assert size_bytes(shapes, torch.bfloat16, int8=True) == 6 * 4 + 6 * 2 + 5 * 4 * 2
    assert size_bytes(shapes, torch.bfloat16) == (6 + 5) * 4 * 2


@pytest.mark.parametrize("kind", ["gqa-bias", "llada2"])
def test_rounding_changes_little(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("torchao")
    model = tiny_model(KINDS[kind])
    save_model(model, tmp_path)
    checkpoint = Checkpoint.open(tmp_path)
    coded = checkpoint.load(None, CPU, int8=True)
    exact = dict(model.named_parameters())
    for name, weight in coded.named_parameters():
        plain = weight.dequantize() if type(weight.data) is not Tensor else weight
        step = exact[name].abs().amax(-1, keepdim=True) / 127 if plain is not weight else torch.zeros(1)
        assert bool(((plain - exact[name]).abs() <= 0.51 * step).all()), name
    assert coded.dtype == torch.float32
    wanted, found = logits(model), logits(coded)
    error = float((found - wanted).norm() / wanted.norm())
    assert 0.0 < error < 0.05
    with pytest.raises(CheckpointError, match="int8 weights are not saved"):
        save_model(coded, tmp_path / "again")
