"""Settings from the options of the command line."""

from __future__ import annotations

from typing import Any

import pytest

from ragcache.cli.answering import Settings
from ragcache.cli.evaluating import Plan
from ragcache.decoding.commit import FixedSteps
from ragcache.errors import ConfigError
from ragcache.reuse.policy import Full

USUAL: dict[str, Any] = {
    "model": "nano",
    "device": "auto",
    "top_k": 4,
    "budget": None,
    "policy": None,
    "codec": "raw",
    "max_tokens": 9,
    "seed": 3,
}


def test_decoding_options_come_beside_length_and_seed() -> None:
    assert Settings.checked(**USUAL).decoding.top_p is None
    options = Settings.checked(**USUAL, decoding=["top_p=0.9", "steps=2"]).decoding
    assert (options.max_tokens, options.seed, options.top_p, options.rule) == (9, 3, 0.9, FixedSteps(2))
    with pytest.raises(ConfigError, match="unknown decoding option 'top_q'"):
        Settings.checked(**USUAL, decoding=["top_q=0.9"])


def test_replicas_take_the_place_of_the_device() -> None:
    assert Settings.checked(**USUAL, replicas=["cpu", "cpu"]).replicas == ("cpu", "cpu")
    with pytest.raises(ConfigError, match="--replica"):
        Settings.checked(**{**USUAL, "device": "cpu"}, replicas=["cpu"])


def test_eval_decodes_as_it_was_told_and_its_journal_says_so() -> None:
    plain, told = (
        Plan({"mine": []}, (Full,), ("prefix",), "prefix", decoding=decoding)
        for decoding in ((), ("top_k=2", "min_tokens=5"))
    )
    [trial] = told.trials()
    assert (trial.options.top_k, trial.options.min_tokens, trial.options.cache) == (2, 5, "prefix")
    assert told.header("m") == {**plain.header("m"), "decoding": ["min_tokens=5", "top_k=2"]}
    assert plain.header("m", "bf16") == {**plain.header("m", "fp32"), "dtype": "bf16"}
