"""Arrivals, what is seen of forwards, and serving."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean
from typing import cast

import pytest
import torch
from engine.asks import ask_about

from ragcache.benching.drive import Forward, Meter, Pace, alone_s, arrivals, serve
from ragcache.decoding.step import Step, StepKind
from ragcache.engine import Engine
from ragcache.errors import ConfigError, PromptTooLongError
from ragcache.model.attention import RequestKV


def step(rows: int, kind: StepKind) -> Step:
    positions = torch.arange(rows)
    return Step(positions, positions, positions[:1], cast(RequestKV, None), kind=kind)


def test_forwards_are_told_with_their_kinds_once() -> None:
    meter = Meter()
    meter([step(30, "refresh"), step(10, "refine")], 1.0)
    meter([step(50, "refine")], 2.0)
    assert meter.take() == [Forward(("refresh", "refine"), 1.0), Forward(("refine",), 2.0)]
    assert meter.take() == []


def test_a_refresh_that_shared_its_forward_has_no_seconds_of_its_own() -> None:
    forwards = [
        Forward(("refresh",), 1.0),
        Forward(("refresh", "refresh"), 2.0),
        Forward(("refresh", "refine"), 1.5),
        Forward(("probe",), 0.3),
        Forward(("refresh",), 1.2),
    ]
    assert alone_s(forwards, "refresh") == (1.0, 1.2)


def test_a_pace_is_of_forwards_without_steps_of_another_kind() -> None:
    forwards = [
        Forward(("refine",) * 8, 2.0),
        Forward(("refine",) * 4, 1.0),
        Forward(("refine", "refresh"), 9.0),
        Forward(("refresh",), 9.0),
    ]
    assert Pace.of(forwards, "refine") == Pace(per_s=4.0, together=6.0)
    assert Pace.of(forwards, "probe") is None


def test_a_closed_loop_starts_with_everything_and_an_open_one_is_random_by_seed() -> None:
    assert arrivals(3, None) == [0.0, 0.0, 0.0]
    at_s = arrivals(2000, 50.0, seed=1)
    assert at_s == sorted(at_s) == arrivals(2000, 50.0, seed=1)
    assert at_s != arrivals(2000, 50.0, seed=2)
    gaps = [after - before for before, after in pairwise(at_s)]
    assert fmean(gaps) == pytest.approx(1 / 50, rel=0.1)
    assert fmean(gap * gap for gap in gaps) == pytest.approx(2 / 50**2, rel=0.25)  # of an exponential


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ConfigError, match="requests a second"):
        arrivals(3, rate)


def test_answers_come_in_the_order_of_requests_and_wait_for_their_arrival(engine: Engine) -> None:
    requests = [ask_about("The river is long and the town is old.", question=q) for q in ("one", "two")]
    slept: list[float] = []
    served, seconds = serve(engine, requests, [0.0, 500.0], sleep=slept.append)
    assert [one.completion for one in served] == [served[0].completion, served[1].completion]
    assert slept[0] == 0.0
    assert 400.0 < slept[1] <= 500.0
    assert served[1].latency_s < 0.0 < served[0].latency_s <= seconds  # nobody slept


def test_an_error_is_raised_and_nothing_goes_on(engine: Engine) -> None:
    with pytest.raises(PromptTooLongError):
        serve(engine, [ask_about("river " * 600), ask_about("The river is long.")], [0.0, 0.0])
    engine.close()
    assert engine.private_kv.used_bytes == 0
