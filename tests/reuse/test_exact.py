"""What a block-causal model reuses exactly, and the row that Dream's first token is read from."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.commit import ConfidenceThreshold
from ragcache.decoding.denoise import DecodingOptions
from ragcache.model.segment import Segment, whole
from ragcache.page import Page
from ragcache.reuse.exact import always_live, split_exact
from ragcache.reuse.policy import ReusePolicy, parse_policy
from reference.fast_path import BACKENDS, Fast, Parts, backend_named
from reference.tiny import KINDS, random_ids, tiny_model

OPTIONS = DecodingOptions(11, rule=ConfidenceThreshold(0.5))
QUESTION = random_ids(5, 4)
CAUSAL = ["sdar", "llada2"]


def page(tokens: int) -> Page:
    return Page(torch.arange(tokens), (), ())


def columns(segments: list[Segment]) -> list[list[int]]:
    return [segment.positions.tolist() for segment in segments]


def test_whole_blocks_of_what_begins_the_prompt_are_exact() -> None:
    canvas = Canvas(range(30), 8, 4, 59, causal=True)
    exact, stale = split_exact(canvas, [whole(page(10), 0), whole(page(6), 12)])
    assert columns(exact) == [[*range(8)]]  # 8 and 9 are in an unfinished block: computed
    assert columns(stale) == [[*range(12, 18)]]


def test_what_follows_a_hole_is_stale() -> None:
    keep = torch.ones(20, dtype=torch.bool)
    keep[9] = False
    canvas = Canvas(range(30), 8, 4, 59, causal=True)
    exact, stale = split_exact(canvas, [Segment(page(20), 0, keep, before=())])
    assert columns(exact) == [[*range(8)]]
    assert columns(stale) == [[*range(10, 20)]]


def test_a_page_is_exact_behind_what_it_was_encoded_behind() -> None:
    canvas = Canvas(range(30), 8, 4, 59, causal=True)
    behind = Segment(page(10), 5, torch.ones(10, dtype=torch.bool), before=(0, 1, 2, 3, 4))
    exact, stale = split_exact(canvas, [behind])
    assert (columns(exact), columns(stale)) == ([[*range(5, 12)]], [])  # 12, 13, 14: an unfinished block
    for other in (
        replace(behind, before=(0, 1, 2, 3, 9)),
        replace(behind, before=()),
        replace(behind, before=None),
        replace(behind, offset=6),
    ):
        assert split_exact(canvas, [other])[0] == []
    short = replace(behind, offset=1, before=(0,), page=page(2), keep=torch.ones(2, dtype=torch.bool))
    assert split_exact(canvas, [short]) == ([], [])  # all within an unfinished block


def test_nothing_is_exact_with_bidirectional_attention() -> None:
    segments = [whole(page(10), 0)]
    exact, stale = split_exact(Canvas(range(30), 8, 4, 59), segments)
    assert (exact, columns(stale)) == ([], columns(segments))


def test_the_row_before_the_answer_is_live_where_it_is_read() -> None:
    segments = [whole(page(4), 0), whole(page(6), 6)]
    shifted = always_live(Canvas(range(12), 8, 4, 59, shift=1), segments)
    assert columns(shifted) == [[0, 1, 2, 3], [*range(6, 11)]]
    assert columns(always_live(Canvas(range(12), 8, 4, 59), segments)) == columns(segments)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("tokens", [3, 8, 13])
@pytest.mark.parametrize("kind", CAUSAL)
def test_direct_reuse_of_a_prefix_is_a_full_recompute(kind: str, tokens: int, backend: str) -> None:
    fast = Fast(tiny_model(KINDS[kind]), backend_named(backend))
    parts: Parts = [(True, random_ids(tokens, 1)), (False, QUESTION)]
    outcome = fast.answer(parts, ReusePolicy(0.0), OPTIONS)
    assert (outcome.anchors, outcome.tokens) == ([], fast.uncached(parts, OPTIONS))


@pytest.mark.parametrize("kind", CAUSAL)
def test_direct_reuse_elsewhere_is_not(kind: str) -> None:
    fast = Fast(tiny_model(KINDS[kind]))
    layouts: list[Parts] = [
        [(False, random_ids(6, seed)), (True, random_ids(13, seed + 50)), (False, QUESTION)]
        for seed in range(4)
    ]
    reused = [fast.answer(parts, ReusePolicy(0.0), OPTIONS).tokens for parts in layouts]
    assert reused != [fast.uncached(parts, OPTIONS) for parts in layouts]


@pytest.mark.parametrize("kind", CAUSAL)
@pytest.mark.parametrize("cache", ["none", "prefix", "dual", "window@4", "dllm@1,1,0"])
def test_every_cache_of_a_block_causal_model_loses_nothing(kind: str, cache: str) -> None:
    fast = Fast(tiny_model(KINDS[kind]))
    parts: Parts = [(False, random_ids(7, 9)), (True, random_ids(6, 10)), (False, QUESTION)]
    one_by_one = DecodingOptions(11, rule=ConfidenceThreshold(1.0), cache=cache)
    plain = DecodingOptions(11, rule=ConfidenceThreshold(1.0), cache="none")
    assert fast.uncached(parts, one_by_one) == fast.uncached(parts, plain)


@pytest.mark.parametrize(
    "policy", ["depth=1", "depth=2+acache@0.4", "acache@0.4+once", "mass@0.3", "oracle@0.3"]
)
@pytest.mark.parametrize("kind", ["dream", *CAUSAL])
def test_policies_give_full_answers_on_both_backends(kind: str, policy: str) -> None:
    parts: Parts = [(True, random_ids(9, 1)), (False, QUESTION), (True, random_ids(6, 2))]
    answers = []
    for backend in BACKENDS:
        fast = Fast(tiny_model(KINDS[kind]), backend_named(backend))
        answers.append(fast.answer(parts, parse_policy(policy), OPTIONS))
    assert answers[0] == answers[1]
    assert len(answers[0].tokens) == 11
    assert fast.model.config.mask_id not in answers[0].tokens


def test_depth_reuse_of_all_layers_still_reads_dreams_first_token_from_a_live_row() -> None:
    fast = Fast(tiny_model(KINDS["dream"]))
    parts: Parts = [(False, QUESTION), (True, random_ids(9, 1))]
    outcome = fast.answer(parts, parse_policy("depth=3"), OPTIONS)
    assert outcome == fast.answer(parts, ReusePolicy(0.0), OPTIONS)
