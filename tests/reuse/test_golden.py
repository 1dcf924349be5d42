"""Anchors and answers of ACache, as the golden file has them, with both backends."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from ragcache.decoding.commit import ConfidenceThreshold
from ragcache.decoding.denoise import DecodingOptions
from ragcache.model.checkpoint import load_model
from ragcache.model.transformer import MaskPredictor
from ragcache.reuse.criteria import Influence
from ragcache.reuse.policy import ReusePolicy
from reference.fast_path import BACKENDS, Fast, backend_named
from reference.tiny import GOLDEN

CASES = json.loads((GOLDEN / "acache.json").read_text())
# the file's answer swaps two commits whose confidences differ by 2e-4: tests/data/README.md
SWAPPED = next(c for c in CASES if c["layout"] == "suffix of the prompt" and c["budget"] == 1.0)
SOUND = [c for c in CASES if c is not SWAPPED]


@pytest.fixture(scope="module")
def model() -> MaskPredictor:
    return load_model(GOLDEN)


def options_of(case: dict[str, Any]) -> DecodingOptions:
    rule = ConfidenceThreshold(case["threshold"])
    return DecodingOptions(case["gen_length"], case["block_length"], rule)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", SOUND, ids=lambda c: f"{c['layout']} {c['budget']}")
def test_same_anchors_and_tokens(model: MaskPredictor, case: dict[str, Any], backend: str) -> None:
    fast = Fast(model, backend_named(backend))
    outcome = fast.answer(case["parts"], ReusePolicy(case["budget"], Influence()), options_of(case))
    assert outcome.anchors == case["anchors"]
    assert outcome.tokens == case["tokens"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_swapped_case_equals_the_uncached_run(model: MaskPredictor, backend: str) -> None:
    fast = Fast(model, backend_named(backend))
    outcome = fast.answer(SWAPPED["parts"], ReusePolicy(1.0), options_of(SWAPPED))
    assert outcome.anchors == SWAPPED["anchors"]
    assert outcome.tokens == fast.uncached(SWAPPED["parts"], options_of(SWAPPED))
    assert outcome.tokens[:10] == SWAPPED["tokens"][:10]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("backend", BACKENDS)
def test_same_anchors_and_tokens_on_cuda(backend: str) -> None:
    fast = Fast(load_model(GOLDEN, device="cuda"), backend_named(backend))
    for case in SOUND:
        outcome = fast.answer(case["parts"], ReusePolicy(case["budget"], Influence()), options_of(case))
        assert (outcome.anchors, outcome.tokens) == (case["anchors"], case["tokens"])
