"""The yardstick itself: the reference answers as the upstream implementations did (tests/data/README.md)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from reference.generate import acache, decode, fixed_steps, threshold
from reference.llada import ReferenceModel
from reference.tiny import GOLDEN

CASES = json.loads((GOLDEN / "golden.json").read_text())
ACACHE = json.loads((GOLDEN / "acache.json").read_text())


@pytest.fixture(scope="module")
def model() -> ReferenceModel:
    return ReferenceModel(GOLDEN)


def test_logits(model: ReferenceModel) -> None:
    case = CASES[0]
    logits = model.forward(case["input_ids"])[case["rows"]]
    np.testing.assert_allclose(logits, np.array(case["logits"]), atol=1e-4)


@pytest.mark.parametrize("mode", ["none", "prefix", "dual"])
def test_fixed_step_answer(model: ReferenceModel, mode: str) -> None:
    case = CASES[4]
    count = fixed_steps(case["steps"] * case["block_length"] // case["gen_length"])
    answer = decode(model, case["prompt_ids"], case["gen_length"], case["block_length"], count, mode)
    assert answer == case["result"][mode]["tokens"]


def test_threshold_answer(model: ReferenceModel) -> None:
    case = CASES[1]
    count = threshold(case["threshold"])
    answer = decode(model, case["prompt_ids"], case["gen_length"], case["block_length"], count, "dual")
    assert answer == case["result"]["dual"]["tokens"]


@pytest.mark.parametrize("case", ACACHE[1:12:5], ids=lambda c: f"{c['layout']} {c['budget']}")
def test_acache_answer(model: ReferenceModel, case: dict) -> None:
    rule = threshold(case["threshold"])
    anchors, tokens = acache(
        model, case["parts"], case["budget"], case["gen_length"], case["block_length"], rule
    )
    assert anchors == case["anchors"]
    assert tokens == case["tokens"]
