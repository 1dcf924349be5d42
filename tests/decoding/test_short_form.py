"""Decoding options as the command line takes them."""

from __future__ import annotations

import pytest

from ragcache.decoding.commit import ConfidenceThreshold, Factor, FixedSteps, Times
from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.short_form import parse_decoding
from ragcache.errors import ConfigError

BASE = DecodingOptions(max_tokens=9, seed=3)


def test_nothing_said_changes_nothing() -> None:
    assert parse_decoding((), BASE) == BASE


def test_fields_and_rules_by_name() -> None:
    pairs = ("top_k=5", "top_p = 0.9", "min_tokens=4", "confidence=entropy", "temperature=0.5", "steps=2")
    assert parse_decoding(pairs, BASE) == DecodingOptions(
        max_tokens=9,
        rule=FixedSteps(2),
        temperature=0.5,
        confidence="entropy",
        seed=3,
        top_k=5,
        top_p=0.9,
        min_tokens=4,
    )
    assert parse_decoding(["threshold=0.8"], BASE).rule == ConfidenceThreshold(0.8)
    assert parse_decoding(["factor=2"], BASE).rule == Factor(2.0)


def test_dreams_samplers() -> None:
    entropy = parse_decoding(["sampler=entropy", "steps=8", "top_p=0.95"], BASE)
    assert (entropy.rule, entropy.confidence, entropy.top_p) == (Times(8), "entropy", 0.95)
    assert parse_decoding(["sampler=confidence_threshold", "threshold=0.7"], BASE).rule == (
        ConfidenceThreshold(0.7)
    )


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["top_p"], "'top_p': write NAME=VALUE"),
        (["top_p="], "write NAME=VALUE"),
        (["colour=red"], "unknown decoding option 'colour'; known: block_length"),
        (["top_k=3", "top_k=4"], "'top_k' is given twice"),
        (["top_k=3.5"], "top_k=3.5: give a whole number"),
        (["top_p=much"], "top_p=much: give a number"),
        (["top_p=1.5"], "top_p must be above 0 and at most 1"),
        (["top_p=nan"], "top_p must be above 0"),
        (["min_tokens=-1"], "min_tokens must be 0 or more"),
        (["confidence=hope"], "unknown confidence 'hope'"),
        (["steps=2", "threshold=0.9"], "steps and threshold exclude each other"),
        (["sampler=entropy"], "'entropy' needs a number of steps"),
        (["sampler=best", "steps=2"], "unknown sampler 'best'"),
        (["sampler=entropy", "steps=2", "factor=1"], "takes steps, but not factor"),
        (["sampler=entropy", "steps=2", "confidence=random"], "but not confidence"),
        (["sampler=confidence_threshold", "steps=2"], "takes threshold, but not steps"),
    ],
)
def test_what_cannot_be_used_is_named(pairs: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_decoding(pairs, BASE)
