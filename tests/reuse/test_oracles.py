"""Oracles: the reference, the uncached run, page bytes, batches, edge shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ragcache.decoding.commit import ConfidenceThreshold, FixedSteps
from ragcache.decoding.denoise import DecodingOptions
from ragcache.model.checkpoint import save_model
from ragcache.reuse.criteria import Influence
from ragcache.reuse.policy import ReusePolicy
from reference.families import reference_model
from reference.fast_path import BACKENDS, Fast, Parts, backend_named, run_jointly
from reference.generate import acache, fixed_steps, threshold
from reference.tiny import FAMILIES, KINDS, random_ids, tiny_model

OPTIONS = DecodingOptions(11, 4, ConfidenceThreshold(0.5))  # the last block is short
A, B, C = random_ids(13, 1), random_ids(7, 2), random_ids(1, 3)
QUESTION = random_ids(5, 4)
LAYOUTS: dict[str, Parts] = {
    "no affix": [(False, QUESTION)],
    "whole prompt one affix": [(True, A)],
    "prefix": [(True, A), (False, QUESTION)],
    "infix": [(False, random_ids(3, 5)), (True, A), (False, QUESTION)],
    "suffix": [(False, QUESTION), (True, A)],
    "side by side": [(True, A), (True, B), (False, QUESTION)],
    "several": [(False, random_ids(2, 6)), (True, B), (False, QUESTION), (True, C), (True, A)],
    "same affix twice": [(True, B), (False, QUESTION), (True, B)],
    "affix of one token": [(False, QUESTION), (True, C), (False, random_ids(2, 7))],
}


def check_against_reference(kind: str, parts: Parts, budget: float, mode: str, folder: Path) -> None:
    model = tiny_model(KINDS[kind])
    save_model(model, folder)
    wanted = acache(reference_model(folder), parts, budget, 11, 4, threshold(0.5), mode)
    options = DecodingOptions(11, 4, ConfidenceThreshold(0.5), mode)
    for backend in BACKENDS:
        outcome = Fast(model, backend_named(backend)).answer(parts, ReusePolicy(budget, Influence()), options)
        assert (outcome.anchors, outcome.tokens) == wanted


@pytest.mark.parametrize("budget", [0.0, 0.001, 0.3, 1.0])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_equals_the_reference(layout: str, budget: float, tmp_path: Path) -> None:
    check_against_reference("gqa-bias", LAYOUTS[layout], budget, "dual", tmp_path)


@pytest.mark.parametrize("budget", [0.0, 0.3])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", FAMILIES)
def test_every_layout_of_every_family_equals_the_reference(
    kind: str, layout: str, budget: float, tmp_path: Path
) -> None:
    check_against_reference(kind, LAYOUTS[layout], budget, "dual", tmp_path)


@pytest.mark.parametrize("mode", ["none", "prefix", "dual"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_model_and_mode_equals_the_reference(kind: str, mode: str, tmp_path: Path) -> None:
    check_against_reference(kind, LAYOUTS["several"], 0.3, mode, tmp_path)


def test_fixed_steps_equal_the_reference(tmp_path: Path) -> None:
    model = tiny_model()
    save_model(model, tmp_path)
    wanted = acache(reference_model(tmp_path), LAYOUTS["several"], 0.3, 11, 4, fixed_steps(3))
    outcome = Fast(model).answer(
        LAYOUTS["several"], ReusePolicy(0.3, Influence()), DecodingOptions(11, 4, FixedSteps(3))
    )
    assert (outcome.anchors, outcome.tokens) == wanted


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_budget_1_equals_the_uncached_run(kind: str, backend: str) -> None:
    fast = Fast(tiny_model(KINDS[kind]), backend_named(backend))
    layouts = LAYOUTS if kind in ("gqa-bias", *FAMILIES) else ["several", "same affix twice"]
    for parts in (LAYOUTS[name] for name in layouts):
        assert fast.answer(parts, ReusePolicy(1.0), OPTIONS).tokens == fast.uncached(parts, OPTIONS)


def test_reuse_without_anchors_changes_an_answer() -> None:
    fast = Fast(tiny_model())  # else the equalities above would prove nothing
    answers = [fast.answer(parts, ReusePolicy(0.0), OPTIONS).tokens for parts in LAYOUTS.values()]
    assert answers != [fast.uncached(parts, OPTIONS) for parts in LAYOUTS.values()]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["gqa-bias", *FAMILIES])
def test_pages_are_unchanged_by_generation(kind: str, backend: str) -> None:
    fast = Fast(tiny_model(KINDS[kind]), backend_named(backend))
    fast.segments(LAYOUTS["several"])  # encodes the pages
    before = {ids: [t.clone() for t in (*p.keys, *p.values)] for ids, p in fast.pages.items()}
    for budget in (0.0, 0.3, 1.0):
        for parts in (LAYOUTS["several"], LAYOUTS["same affix twice"]):
            fast.answer(parts, ReusePolicy(budget, Influence()), OPTIONS)
    for ids, tensors in before.items():
        page = fast.pages[ids]
        assert all(torch.equal(a, b) for a, b in zip(tensors, (*page.keys, *page.values), strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["gqa-bias", *FAMILIES])
def test_pages_serve_any_order_as_fresh_ones_would(kind: str, backend: str) -> None:
    warm = Fast(tiny_model(KINDS[kind]), backend_named(backend))
    warm.answer(LAYOUTS["several"], ReusePolicy(0.3, Influence()), OPTIONS)
    reordered = [(True, A), (False, QUESTION), (True, C), (True, B)]
    cold = Fast(warm.model, backend_named(backend))
    outcomes = [fast.answer(reordered, ReusePolicy(0.3, Influence()), OPTIONS) for fast in (cold, warm, warm)]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert len(warm.pages) == 3  # one page per affix, wherever it stands


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["mha", "gqa-bias", "mqa", *FAMILIES])
def test_a_batch_of_unequal_requests_equals_one_by_one(kind: str, backend: str) -> None:
    fast = Fast(tiny_model(KINDS[kind]), backend_named(backend))
    rules = ConfidenceThreshold(0.5), FixedSteps(2), ConfidenceThreshold(0.9)
    block = fast.model.config.causal_block or 5
    requests = [
        (
            parts,
            ReusePolicy((0.0, 0.2, 0.5, 1.0)[i % 4], Influence()),
            DecodingOptions(4 + 2 * i, block, rules[i % 3]),
        )
        for i, parts in enumerate(LAYOUTS.values())
    ]
    alone = [fast.answer(*request) for request in requests]
    jointly, together = run_jointly(fast.model, [fast.work(*request) for request in requests])
    assert jointly == alone
    assert together[0] == len(requests)
    assert len(set(together)) > 1  # requests leave the batch at different times


@pytest.mark.parametrize("backend", BACKENDS)
def test_bf16_gives_a_full_answer(backend: str) -> None:
    fast = Fast(tiny_model().to(torch.bfloat16), backend_named(backend))
    outcome = fast.answer(LAYOUTS["several"], ReusePolicy(0.3, Influence()), OPTIONS)
    assert len(outcome.tokens) == 11
    assert fast.model.config.mask_id not in outcome.tokens
    assert all(t.dtype == torch.bfloat16 for page in fast.pages.values() for t in page.keys)
