"""The answers of upstream's generation code, for every case, cache mode and backend."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from ragcache.decoding.caches import Live
from ragcache.decoding.canvas import Canvas
from ragcache.decoding.commit import CommitRule, ConfidenceThreshold, FixedSteps
from ragcache.decoding.denoise import DecodingOptions, denoise
from ragcache.decoding.step import Step, Work, run
from ragcache.model.checkpoint import load_model
from ragcache.model.transformer import MaskPredictor
from reference.fast_path import BACKENDS, backend_named
from reference.tiny import GOLDEN

CASES = [c for c in json.loads((GOLDEN / "golden.json").read_text()) if c["kind"] == "generate"]
MODES: list[str] = ["none", "prefix", "dual"]


@pytest.fixture(scope="module")
def model() -> MaskPredictor:
    return load_model(GOLDEN)


def rule_of(case: dict[str, Any]) -> CommitRule:
    if case["threshold"] is not None:
        return ConfidenceThreshold(case["threshold"])
    return FixedSteps(case["steps"] * case["block_length"] // case["gen_length"])


def counted(work: Work[int], steps: list[Step]) -> Work[int]:
    step = next(work)
    while True:
        steps.append(step)
        try:
            step = work.send((yield step))
        except StopIteration as end:
            return int(end.value)


def generate(model: MaskPredictor, case: dict[str, Any], mode: str, backend: str) -> tuple[list[int], int]:
    """Answer ids and number of forwards."""
    options = DecodingOptions(case["gen_length"], case["block_length"], rule_of(case), mode)
    canvas = Canvas(case["prompt_ids"], options.max_tokens, options.block_length, model.config.mask_id)
    kv = backend_named(backend)(model.config, canvas.tokens, (), model.dtype, model.device)
    steps: list[Step] = []
    run(model, counted(denoise(canvas, lambda block: Live(torch.arange(canvas.tokens)), kv, options), steps))
    return canvas.answer(), len(steps)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{len(c['prompt_ids'])}+{c['gen_length']}")
def test_same_tokens_in_no_more_forwards(
    model: MaskPredictor, case: dict[str, Any], mode: str, backend: str
) -> None:
    tokens, forwards = generate(model, case, mode, backend)
    assert tokens == case["result"][mode]["tokens"]
    assert forwards <= case["result"][mode]["nfe"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", MODES)
def test_same_tokens_on_cuda(mode: str, backend: str) -> None:
    model = load_model(GOLDEN, device="cuda")
    for case in CASES:
        assert generate(model, case, mode, backend)[0] == case["result"][mode]["tokens"]
