"""What a family's habits are worth, and Dream's samplers by their names."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ragcache.decoding.commit import ConfidenceThreshold, FixedSteps, Times
from ragcache.decoding.defaults import DEFAULTS, SAMPLERS, with_defaults, with_sampler
from ragcache.decoding.denoise import DecodingOptions
from ragcache.errors import ConfigError
from ragcache.model.supported import FAMILIES
from reference.fast_path import Fast, Parts
from reference.tiny import KINDS, random_ids, tiny_model

WHOLE = DecodingOptions(12, 12, cache="none")
PARTS: Parts = [(True, random_ids(9, 1)), (False, random_ids(4, 2))]


def test_every_family_has_habits_and_says_from_where() -> None:
    assert DEFAULTS.keys() == FAMILIES.keys()
    assert all(habits.source for habits in DEFAULTS.values())


def test_only_what_is_not_said_is_filled_in() -> None:
    filled = with_defaults(DecodingOptions(), KINDS["mha"])
    assert (filled.block_length, filled.rule) == (32, ConfidenceThreshold(0.9))
    said = DecodingOptions(8, 4, FixedSteps(2), confidence="entropy")
    assert with_defaults(said, KINDS["dream"]) == replace(said, top_k=50)
    assert with_defaults(DecodingOptions(), KINDS["dream"]).confidence == "maskgit_plus"


def test_a_block_causal_model_decodes_the_blocks_of_its_attention() -> None:
    assert with_defaults(DecodingOptions(), KINDS["sdar"]).block_length == 4
    assert with_defaults(DecodingOptions(block_length=4), KINDS["sdar"]).block_length == 4
    with pytest.raises(ConfigError, match="block_length is 32, but this model's attention has blocks of 4"):
        with_defaults(DecodingOptions(block_length=32), KINDS["sdar"])


def test_times_commit_by_the_share_of_time_that_passes() -> None:
    left, counts = 64, []
    for step in range(8):
        counts.append(Times(8).count(torch.ones(left), step=step, masked_at_start=64))
        left -= counts[-1]
    assert left == 0
    assert counts[:2] == [7, 8]  # int(64 * 0.124875), int(57 * 0.1427)
    assert Times(100).count(torch.ones(5), step=0, masked_at_start=5) == 1  # never a forward for nothing
    with pytest.raises(ConfigError, match="0 steps"):
        Times(0)


@pytest.mark.parametrize("alg", SAMPLERS)
def test_dreams_samplers_decode_the_whole_canvas(alg: str) -> None:
    fast = Fast(tiny_model(KINDS["dream"]))
    options = with_sampler(WHOLE, alg, steps=6, threshold=0.4)
    answer = fast.uncached(PARTS, options)
    assert answer == fast.uncached(PARTS, options)
    assert fast.model.config.mask_id not in answer


def test_samplers_that_differ_give_answers_that_differ() -> None:
    fast = Fast(tiny_model(KINDS["dream"]))
    long = replace(WHOLE, max_tokens=30, block_length=30)
    answers = {tuple(fast.uncached(PARTS, with_sampler(long, alg, steps=6))) for alg in SAMPLERS}
    assert len(answers) > 2


def test_samplers_name_what_they_lack() -> None:
    with pytest.raises(ConfigError, match="unknown sampler 'best'; known: origin, maskgit_plus"):
        with_sampler(WHOLE, "best")
    with pytest.raises(ConfigError, match="'entropy' needs a number of steps"):
        with_sampler(WHOLE, "entropy")
