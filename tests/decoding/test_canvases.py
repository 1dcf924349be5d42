"""Canvases of noise: the tokens are those of transformers' own generation code, drawn by the same chance."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.canvases import denoise_canvases
from ragcache.decoding.commit import EntropyBound
from ragcache.decoding.defaults import with_defaults
from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import run
from ragcache.errors import ConfigError
from ragcache.model.checkpoint import Checkpoint
from ragcache.model.diffusion_gemma import DiffusionGemma
from reference.gemma import CANVAS, write_gemma

pytest.importorskip("transformers")

ROWS = 60
PROMPT = list(range(5, 25))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> DiffusionGemma:
    folder = write_gemma(tmp_path_factory.mktemp("gemma"), ROWS)
    return Checkpoint.open(folder).load_network(torch.float32, torch.device("cpu"))


def answer(model: DiffusionGemma, canvases: int, seed: int) -> list[int]:
    canvas = Canvas.of(model.config, PROMPT, canvases * CANVAS, CANVAS)
    live = torch.arange(len(PROMPT))
    assert run(model, denoise_canvases(model, canvas, live, model.begin(), seed)) == canvases * CANVAS
    return canvas.answer()


@pytest.mark.parametrize("sure", [0.005, 50.0])  # no canvas comes to rest; every one that repeats itself does
def test_equal_to_the_library(model: DiffusionGemma, sure: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # for compiled networks, which this is not; it imports torch's compiler, which takes seconds
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
    model = DiffusionGemma(model.config, model.network)
    model.habits = replace(model.habits, sure=sure, steps=12)
    torch.manual_seed(3)
    theirs = model.network.generate(
        torch.tensor([PROMPT]),
        max_new_tokens=3 * CANVAS,
        max_denoising_steps=12,
        confidence_threshold=sure,
        eos_token_id=None,
        pad_token_id=None,
    )
    ours = answer(model, 3, seed=3)
    assert ours == theirs.sequences[0, len(PROMPT) :].tolist()
    assert len(set(ours)) > 3
    assert answer(model, 3, seed=4) != ours


def test_nothing_but_length_and_seed_can_be_chosen(model: DiffusionGemma) -> None:
    usual = with_defaults(DecodingOptions(max_tokens=9, seed=2), model.config)
    assert (usual.block_length, usual.max_tokens, usual.seed) == (CANVAS, 9, 2)
    with pytest.raises(ConfigError, match=r"^rule, temperature: .*generation_config\.json"):
        with_defaults(DecodingOptions(temperature=0.5, rule=EntropyBound(0.2)), model.config)
    with pytest.raises(ConfigError, match=r"^block_length: .*canvases of 8"):
        with_defaults(DecodingOptions(block_length=4), model.config)
