"""The yardstick itself: the reference answers as the upstream implementations did (tests/data/README.md)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import reference.generate as plain
from reference.generate import acache, commit, decode, fixed_steps, threshold
from reference.llada import Array, ReferenceModel, softmax
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


@pytest.mark.parametrize(
    "case", [ACACHE[1], ACACHE[6], ACACHE[9]], ids=lambda c: f"{c['layout']} {c['budget']}"
)
def test_acache_answer(model: ReferenceModel, case: dict[str, Any]) -> None:
    rule = threshold(case["threshold"])
    anchors, tokens = acache(
        model, case["parts"], case["budget"], case["gen_length"], case["block_length"], rule
    )
    assert anchors == case["anchors"]
    assert tokens == case["tokens"]


def test_one_swapped_commit_explains_the_golden_case_that_is_not_followed(
    model: ReferenceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = ACACHE[11]
    start = sum(len(ids) for _, ids in case["parts"])
    probabilities = {}

    def swap(
        model: ReferenceModel,
        ids: list[int],
        block: range,
        logits: dict[int, Array],
        count: plain.Count,
        step: int,
        masks: int,
    ) -> None:
        if (block.start, step) != (start + 8, 4):
            return commit(model, ids, block, logits, count, step, masks)
        probabilities.update({i: softmax(logits[start + i]).max() for i in (10, 11)})
        ids[start + 10] = int(logits[start + 10].argmax())
        return None

    monkeypatch.setattr(plain, "commit", swap)
    _, tokens = acache(model, case["parts"], 1.0, 32, 8, threshold(case["threshold"]))
    assert tokens == case["tokens"]
    assert 0 < probabilities[11] - probabilities[10] < 3e-4
