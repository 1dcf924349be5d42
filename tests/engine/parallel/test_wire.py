"""What goes over a pipe comes out equal, and nothing but known values comes out."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from engine.asks import RIVER, SHORT, TOWN, ask, ask_about

from ragcache.decoding.commit import ConfidenceThreshold, EntropyBound, Factor, FixedSteps, Times
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, Request
from ragcache.engine.parallel.wire import dump, load
from ragcache.engine.parallel.wire_errors import ERRORS, error_from_plain, error_to_plain
from ragcache.errors import (
    ConfigError,
    EngineBusyError,
    ModelTooLargeError,
    PromptTooLongError,
    RagCacheError,
    RequestTooLargeError,
)
from ragcache.prompt import Affix, Message, Prompt
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.policy import Depth, ReusePolicy, parse_policy

REQUESTS = [
    Request("a text with \ud800 and \u2028 and \n in it"),
    ask_about(RIVER, TOWN, trace=True, compare=True, shared=("doc0",), stop=("\n", "}"), priority=-2),
    Request(Prompt.chat(Message("system", (Affix("a", RIVER),)), Message("user", ("x", Affix("b", TOWN))))),
    Request(Prompt.plain(Affix("all", RIVER)), timeout_s=0.1 + 0.2),
    ask("x", options=DecodingOptions(12, 4, temperature=1.0 / 3.0, seed=2**62, top_p=0.9, top_k=5)),
    replace(ask("x"), policy=ReusePolicy(0.123456789)),  # its short form keeps six digits
    replace(ask("x"), policy=ReusePolicy(depth=Depth(table=DepthTable("own", 4, ((0.0, 1), (50.5, 2)))))),
]
RULES = [ConfidenceThreshold(0.8), EntropyBound(0.2), Factor(0.5), FixedSteps(3), Times(4)]
POLICIES = ["full", "direct", "auto", "depth=1+vsim@0.1", "adaptive@0.9:0.05-0.4", "random@0.2+once+min=9"]


@pytest.mark.parametrize("request_number", range(len(REQUESTS)))
def test_requests_come_out_as_they_went_in(request_number: int) -> None:
    line = dump(REQUESTS[request_number])
    assert load(line) == REQUESTS[request_number]
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_commit_rules_come_out_as_they_went_in(rule: Any) -> None:
    assert load(dump(replace(SHORT, rule=rule))) == replace(SHORT, rule=rule)


@pytest.mark.parametrize("form", POLICIES)
def test_policies_come_out_as_they_went_in(form: str) -> None:
    assert load(dump(parse_policy(form))) == parse_policy(form)


def test_completions_come_out_as_they_went_in(bare: Engine) -> None:
    (completion,) = bare.generate([ask_about(RIVER, trace=True, keep_logits=True)])
    found = load(dump(completion))
    assert found == completion
    assert completion.first_logits is not None
    assert torch.equal(found.first_logits, completion.first_logits)
    assert found.trace.scores == completion.trace.scores != {}  # type: ignore[union-attr]


def test_previews_and_prompts_come_out_as_they_went_in(bare: Engine) -> None:
    request = ask_about(RIVER, "tiny")
    for value in (bare.preview(request), bare.tokenize(request.prompt)):
        assert load(dump(value)) == value


@pytest.mark.parametrize("number", [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf])
def test_floats_keep_every_bit(number: float) -> None:
    assert load(dump(number)).hex() == number.hex()


def test_tensors_keep_type_and_shape() -> None:
    for tensor in (torch.randn(2, 3, dtype=torch.bfloat16), torch.arange(6).reshape(2, 3).T):
        found = load(dump(tensor))
        assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(found, tensor)


@dataclass(frozen=True)
class OwnRule:
    """A caller's own commit rule."""

    def count(self, confidence: torch.Tensor, *, step: int, masked_at_start: int) -> int:
        return 1


@dataclass(frozen=True)
class FixedSteps2:
    steps_per_block: int


def test_what_is_the_callers_own_cannot_be_sent() -> None:
    with pytest.raises(ConfigError, match="a OwnRule of your own"):
        dump(replace(SHORT, rule=OwnRule()))
    FixedSteps2.__name__ = "FixedSteps"  # the name alone is not enough
    with pytest.raises(ConfigError, match="of your own"):
        dump(replace(SHORT, rule=FixedSteps2(3)))


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b'{"kind": "Popen", "fields": {"args": ["true"]}}',
        b'{"kind": "FixedSteps", "fields": {"steps": 3}}',
        b'{"kind": "FixedSteps"}',
        b"{}",
        b'{"tensor": "AAAA"}',
        b'{"pairs": [1]}',
    ],
)
def test_what_was_not_written_here_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        load(line)


TYPED = [
    PromptTooLongError(300, 256),
    PromptTooLongError(300, 256, what="affix"),
    ModelTooLargeError("m", 3, 2, "cuda:0"),
    RequestTooLargeError(7, 5),
    EngineBusyError(9),
]


def over_the_wire(error: BaseException) -> Exception:
    return error_from_plain(load(dump(error_to_plain(error))))


@pytest.mark.parametrize("error", TYPED, ids=repr)
def test_errors_keep_type_message_and_fields(error: RagCacheError) -> None:
    found = over_the_wire(error)
    assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_of_ragcache_can_be_sent(name: str) -> None:
    error = ERRORS[name].__new__(ERRORS[name], "what to do about it")
    found = over_the_wire(error)
    assert (type(found), str(found)) == (ERRORS[name], "what to do about it")


def test_an_error_that_is_not_ours_is_named() -> None:
    found = over_the_wire(ZeroDivisionError("division by zero"))
    assert type(found) is RuntimeError
    assert "ZeroDivisionError: division by zero" in str(found)


def test_only_errors_are_made_of_what_is_read() -> None:
    plain = json.loads(json.dumps({"type": "SystemExit", "message": "3", "fields": {}}))
    assert type(error_from_plain(plain)) is RuntimeError
