"""Depth reuse, alone and with anchors, against the plain reference; its tables."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ragcache.decoding.commit import ConfidenceThreshold
from ragcache.decoding.denoise import DecodingOptions
from ragcache.errors import ConfigError
from ragcache.model.checkpoint import save_model
from ragcache.reuse.criteria import Influence
from ragcache.reuse.depth import PUBLISHED, DepthTable, fixed_depth
from ragcache.reuse.plan import depth_table
from ragcache.reuse.policy import Depth, Direct, Full, ReusePolicy, parse_policy
from reference.fast_path import BACKENDS, Fast, Parts, backend_named, run_jointly
from reference.llada import ReferenceModel
from reference.paths import depth_reuse
from reference.tiny import random_ids, tiny_model

A, B = random_ids(13, 1), random_ids(7, 2)
PARTS: Parts = [(False, random_ids(2, 6)), (True, B), (False, random_ids(5, 4)), (True, A), (False, [7, 8])]
SEED = 11  # weights whose answers change with what is reused
OPTIONS = DecodingOptions(6, 6, ConfidenceThreshold(0.5))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("budget", [0.3, 1.0])
@pytest.mark.parametrize("depth", [1, 2])
def test_equals_the_reference(depth: int, budget: float, backend: str, tmp_path: Path) -> None:
    fast = Fast(tiny_model(seed=SEED), backend_named(backend))
    save_model(fast.model, tmp_path)
    wanted = depth_reuse(ReferenceModel(tmp_path), PARTS, budget, depth, 6, 0.5)
    outcome = fast.answer(PARTS, ReusePolicy(budget, Influence(), depth=Depth(depth)), OPTIONS)
    assert (outcome.anchors, outcome.tokens) == wanted


@pytest.mark.parametrize("backend", BACKENDS)
def test_depth_0_with_all_anchors_is_the_full_recompute(backend: str) -> None:
    fast = Fast(tiny_model(seed=SEED), backend_named(backend))
    outcome = fast.answer(PARTS, ReusePolicy(1.0, depth=Depth(0)), OPTIONS)
    assert outcome.tokens == fast.answer(PARTS, Full, OPTIONS).tokens


@pytest.mark.parametrize("backend", BACKENDS)
def test_depth_of_all_layers_is_direct_reuse(backend: str) -> None:
    fast = Fast(tiny_model(seed=SEED), backend_named(backend))
    outcome = fast.answer(PARTS, ReusePolicy(1.0, depth=Depth(3)), OPTIONS)
    assert outcome == fast.answer(PARTS, Direct, OPTIONS)


def test_a_batch_of_different_depths_equals_one_by_one() -> None:
    fast = Fast(tiny_model(seed=SEED))
    policies = [parse_policy(text) for text in ("depth=1", "depth=2+acache@0.3", "full", "direct", "depth=2")]
    alone = [fast.answer(PARTS, policy, OPTIONS) for policy in policies]
    jointly, _ = run_jointly(fast.model, [fast.work(PARTS, policy, OPTIONS) for policy in policies])
    assert jointly == alone
    assert len({tuple(outcome.tokens) for outcome in alone}) > 1  # else nothing was told apart


def test_published_tables_say_what_the_paper_says() -> None:
    llada, dream = PUBLISHED["LLaDA-8B-Instruct"], PUBLISHED["Dream-7B-Instruct"]
    assert [llada.depth(share) for share in (0.0, 0.049, 0.05, 0.5, 0.9, 1.0)] == [1, 1, 2, 11, 17, 32]
    assert [dream.depth(share) for share in (0.0, 0.2, 0.95, 0.97)] == [1, 5, 18, 28]
    assert 32 not in llada.checkpoints
    assert llada.checkpoints[:3] == (1, 2, 3)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ((), "shares must rise"),
        (((5, 1), (5, 2)), "shares must rise"),
        (((0, 3), (5, 2)), "depths must not fall"),
        (((0, 1), (101, 2)), "percent"),
        (((0, 1), (50, 9)), "profile-depth"),
        (((0, -1),), "profile-depth"),
    ],
)
def test_tables_that_make_no_sense(entries: tuple[tuple[float, int], ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DepthTable("mine", 8, entries)


def test_which_table_a_policy_uses() -> None:
    own = DepthTable("own", 8, ((0, 2),))
    assert depth_table(Full, 8, own) is None
    assert depth_table(parse_policy("depth"), 8, own) == own
    assert depth_table(parse_policy("depth=3"), 8, own) == fixed_depth(3, 8)
    with pytest.raises(ConfigError, match="no depth table; measure it with ragcache profile-depth"):
        depth_table(parse_policy("depth"), 8, None)
    with pytest.raises(ConfigError, match="for 32 layers, this model has 8"):
        depth_table(ReusePolicy(depth=Depth(table=PUBLISHED["LLaDA-8B-Instruct"])), 8, own)
    with pytest.raises(ConfigError, match="depths up to 9, the model 8"):
        depth_table(parse_policy("depth=9"), 8, own)


def test_a_page_without_hidden_states_is_refused() -> None:
    fast = Fast(tiny_model(seed=SEED))
    fast.answer(PARTS, Direct, OPTIONS)  # pages without hidden states
    pages = dict(fast.pages)
    work = fast.work(PARTS, ReusePolicy(depth=Depth(1)), OPTIONS)
    fast.segments = lambda parts, depths=(): Fast(fast.model, pages=pages).segments(parts)  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="no hidden states at layer 1"):
        run_jointly(fast.model, [work])


@pytest.mark.parametrize("backend", BACKENDS)
def test_pages_are_unchanged(backend: str) -> None:
    fast = Fast(tiny_model(seed=SEED), backend_named(backend))
    fast.answer(PARTS, ReusePolicy(0.5, Influence(), depth=Depth(1)), OPTIONS)
    before = {ids: [t.clone() for t in (*p.keys, *p.hidden.values())] for ids, p in fast.pages.items()}
    fast.answer(PARTS, ReusePolicy(0.5, Influence(), depth=Depth(1)), OPTIONS)
    for ids, tensors in before.items():
        page = fast.pages[ids]
        assert all(map(torch.equal, tensors, (*page.keys, *page.hidden.values())))
