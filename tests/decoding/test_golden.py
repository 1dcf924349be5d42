"""The answers of upstream's generation code, for every case, cache mode and backend."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from ragcache.decoding.caches import Live
from ragcache.decoding.canvas import Canvas
from ragcache.decoding.commit import CommitRule, ConfidenceThreshold, FixedSteps
from ragcache.decoding.defaults import with_defaults
from ragcache.decoding.denoise import DecodingOptions, denoise
from ragcache.decoding.step import Step, Work, run
from ragcache.model.checkpoint import load_model
from ragcache.model.transformer import MaskPredictor
from reference.fast_path import BACKENDS, backend_named
from reference.tiny import GOLDEN, GOLDEN_DREAM

# (checkpoint, case, cache mode)
CASES = [
    (folder, case, mode)
    for folder in (GOLDEN, GOLDEN_DREAM)
    for case in json.loads((folder / "golden.json").read_text())
    if case["kind"] == "generate"
    for mode in case["result"]
]
MODELS = cache(load_model)


def name_of(value: Any) -> str:
    if isinstance(value, dict):
        return f"{len(value['prompt_ids'])}+{value['gen_length']}"
    return getattr(value, "name", value)


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
    asked = DecodingOptions(case["gen_length"], case["block_length"], rule_of(case), mode)
    options = with_defaults(asked, model.config)
    canvas = Canvas.of(model.config, case["prompt_ids"], case["gen_length"], case["block_length"])
    kv = backend_named(backend)(model.config, canvas.tokens, (), model.dtype, model.device)
    steps: list[Step] = []
    run(model, counted(denoise(canvas, lambda block: Live(torch.arange(canvas.tokens)), kv, options), steps))
    return canvas.answer(), len(steps)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("folder", "case", "mode"), CASES, ids=name_of)
def test_same_tokens_in_no_more_forwards(folder: Path, case: dict[str, Any], mode: str, backend: str) -> None:
    tokens, forwards = generate(MODELS(folder), case, mode, backend)
    assert tokens == case["result"][mode]["tokens"]
    assert forwards <= case["result"][mode].get("nfe", case["gen_length"] + 1)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("folder", [GOLDEN, GOLDEN_DREAM], ids=name_of)
def test_same_tokens_on_cuda(folder: Path, backend: str) -> None:
    model = load_model(folder, device="cuda")
    for case, mode in [(case, mode) for own, case, mode in CASES if own == folder]:
        assert generate(model, case, mode, backend)[0] == case["result"][mode]["tokens"]
