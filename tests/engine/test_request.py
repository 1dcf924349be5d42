"""Requests that ask for nothing, or for what cannot be."""

from __future__ import annotations

import pytest
from engine.asks import SHORT, ask

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, Request
from ragcache.errors import ConfigError, EmptyQuestionError
from ragcache.prompt import Prompt


def test_an_answer_of_no_tokens_is_refused_before_it_is_queued() -> None:
    with pytest.raises(ConfigError, match="max_tokens must be at least 1, not 0"):
        ask("hello", options=DecodingOptions(max_tokens=0))


def test_a_prompt_of_no_tokens_is_refused_and_takes_nothing(bare: Engine) -> None:
    fine = bare.submit(ask("hello"))
    for prompt in ("", Prompt.plain("\n"), Prompt.user("", system=" ")):
        with pytest.raises(EmptyQuestionError):
            bare.submit(Request(prompt, SHORT))
    assert fine.result(60).forwards > 0
    assert bare.private_kv.used_bytes == 0


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, float("nan")])
def test_no_time_to_answer_in_is_refused(timeout_s: float) -> None:
    with pytest.raises(ConfigError, match="give seconds above 0"):
        ask("hello", timeout_s=timeout_s)


@pytest.mark.parametrize("priority", [0.5, 10**400, -(10**7)])
def test_a_priority_that_is_none_is_refused(priority: int) -> None:
    with pytest.raises(ConfigError, match="0 is usual, more goes first"):
        ask("hello", priority=priority)
