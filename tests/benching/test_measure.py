"""A whole run on the tiny model: everything is served, from pages, in turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcache.benching.arm import covering
from ragcache.benching.load import Load
from ragcache.benching.measure import measure
from ragcache.benching.systems import parse_systems
from ragcache.benching.workloads import DocQA
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError, PromptTooLongError
from ragcache.prompt import Affix, Prompt

LOAD = Load(DocQA(120, documents=2), requests=3, batch=2, canvas=8, block=4, tokens_per_step=2)
SYSTEMS = "none,acache@0.2,depth=half+acache@0.2"


def test_every_system_serves_every_request_in_turns(model: LoadedModel) -> None:
    systems = parse_systems(SYSTEMS, model.predictor.config.layers)
    rounds: list[tuple[str, int]] = []
    found = measure(model, systems, LOAD, lambda system, served: rounds.append((system.name, served)))
    names = [system.name for system in systems]
    assert rounds == [(name, served) for served in (2, 3) for name in names]
    assert [one.system.name for one in found] == names
    for one in found:
        assert (one.requests, len(one.latency_s), len(one.refresh_s)) == (3, 3, 3 * 2)
        assert len(one.loaded_refresh_s) == 3 * 2
        assert one.refine_alone is not None
        assert one.refine_alone.together == 1.0
        assert (one.same, one.em) == (1.0, None)  # fp32: who shares a forward changes no token
        assert one.seconds >= max(one.latency_s) > 0
    dual, none, anchors, deep = found
    assert dual.live_rows == none.live_rows == 1.0
    assert dual.refresh_rows == 128
    assert dual.page_bytes == dual.hit_rate == 0
    assert dual.private_kv_bytes == dual.reserved_kv_bytes == 2 * model.predictor.kv_bytes(128)
    live = 12 + 8 + 22  # fresh tokens, canvas, and a fifth of 108 affix tokens
    assert anchors.refresh_rows == live
    assert anchors.private_kv_bytes == 2 * model.predictor.kv_bytes(live)
    assert anchors.reserved_kv_bytes == anchors.private_kv_bytes  # known before anchors are chosen
    assert deep.live_rows < anchors.live_rows == live / 128
    assert anchors.hit_rate == deep.hit_rate == 1.0
    assert anchors.page_bytes == model.predictor.kv_bytes(108)  # nothing is kept twice
    assert deep.page_bytes > anchors.page_bytes  # hidden states too


def test_prompts_that_do_not_fit_are_refused_before_anything_runs(model: LoadedModel) -> None:
    window = model.predictor.config.max_tokens
    with pytest.raises(PromptTooLongError):
        measure(model, parse_systems("dual", 1), replace(LOAD, workload=DocQA(window, documents=2)))


def test_rounds_are_of_a_batch_and_few_and_one_when_requests_arrive_by_themselves() -> None:
    assert [len(numbers) for numbers in replace(LOAD, requests=16, batch=8).rounds()] == [8, 8]
    assert [len(numbers) for numbers in replace(LOAD, requests=100, batch=8).rounds()] == [20] * 5
    assert [len(numbers) for numbers in replace(LOAD, requests=16, rate=2.0).rounds()] == [16]


def test_pages_are_made_by_as_few_prompts_as_name_them_all() -> None:
    one, two, three = (Affix(name, "a town") for name in ("one", "two", "three"))
    prompts = [Prompt.plain(*affixes) for affixes in ((one, two), (two, one), (two, three), (three,))]
    assert [*covering(prompts)] == [prompts[0], prompts[2]]


def test_prompts_are_as_short_as_a_window_asks_for_and_no_shorter_than_can_be() -> None:
    assert LOAD.within(128) == LOAD
    assert LOAD.within(100).workload.prompt == 92
    with pytest.raises(ConfigError, match="window of 20 tokens leaves 12 beside --canvas 8"):
        LOAD.within(20)


def test_unknown_texts_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown --texts 'verse'; known: words, facts"):
        replace(LOAD, texts="verse")


@pytest.mark.parametrize("name", ["requests", "batch", "canvas", "block", "tokens_per_step"])
def test_counts_under_one_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be at least 1, not 0"):
        replace(LOAD, **{name: 0})


def test_four_tokens_are_decided_at_every_step() -> None:
    rule = Load(DocQA()).options("dual").rule
    assert rule is not None
    assert [rule.count(None, step=step, masked_at_start=32) for step in range(8)] == [4] * 8  # type: ignore[arg-type]
