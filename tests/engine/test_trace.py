"""What a completion says of its own making: rows, bytes, first logits, and the trace."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from engine.asks import RIVER, SHORT, TOWN, ask_with

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Engine, LoadedModel, Request
from ragcache.engine.trace import Trace
from ragcache.registry import Registry
from reference.fast_path import Fast

POLICIES = ["full", "direct", "acache@0.3", "adaptive@0.5", "blend@0.2", "first@0.3", "depth=1+acache@0.3"]


def traced(engine: Engine, policy: str, **fields: object) -> tuple[Completion, Trace]:
    request = replace(ask_with(policy, RIVER, TOWN), trace=True, **fields)  # type: ignore[arg-type]
    (completion,) = engine.generate([request])
    assert completion.trace is not None
    return completion, completion.trace


def committed(trace: Trace) -> list[int]:
    return [position for step in trace.steps for position in step.committed]


@pytest.mark.parametrize("cache", ["dual", "prefix", "none", "window@4", "dllm@4,2,0.5"])
def test_steps_commit_every_canvas_position_once(bare: Engine, cache: str) -> None:
    options = replace(SHORT, cache=cache)
    completion, trace = traced(bare, "acache@0.3", options=options)
    start = completion.reuse.prompt_tokens
    assert trace.prompt_tokens == start
    assert sorted(committed(trace)) == list(range(start, start + SHORT.max_tokens))
    for step in trace.steps:
        assert bool(step.committed) == (step.kind in ("refresh", "refine"))
    firsts = [min(step.committed) for step in trace.steps if step.committed]
    assert all((p - start) // 8 == 0 for p in committed(trace)[:8])  # block by block
    assert firsts[-1] >= start + 8


def test_an_answer_that_stops_early_leaves_the_later_blocks(model: LoadedModel) -> None:
    options = DecodingOptions(max_tokens=24, block_length=4)
    with Engine(model) as engine:
        whole, _ = traced(engine, "acache@0.3", options=options)
    with Engine(replace(model, stop_ids=frozenset({whole.token_ids[1]}))) as engine:
        completion, trace = traced(engine, "acache@0.3", options=options)
    start, mask = trace.prompt_tokens, model.predictor.config.mask_id
    decided = sorted(committed(trace))
    assert decided == list(range(start, start + len(decided)))
    assert len(decided) == 4
    assert [token == mask for token in trace.token_ids[start:]] == [False] * 4 + [True] * 20
    assert completion.finish_reason == "stop"


@pytest.mark.parametrize("policy", POLICIES)
def test_anchors_and_scores_agree_with_the_report(bare: Engine, policy: str) -> None:
    completion, trace = traced(bare, policy)
    affix = [p for use in completion.reuse.affixes for p in range(use.start, use.start + use.tokens)]
    assert list(trace.anchors) == sorted(trace.anchors)
    if policy == "full":  # no page, no anchor: all of it is fresh work
        assert (trace.anchors, trace.scores) == ((), {})
        return
    for use in completion.reuse.affixes:
        own = [p for p in trace.anchors if use.start <= p < use.start + use.tokens]
        assert len(own) == use.anchors
    assert len(trace.anchors) == completion.reuse.recomputed
    if policy == "direct":
        assert trace.scores == {}
        return
    assert list(trace.scores) == affix
    best = sorted(affix, key=lambda p: (-trace.scores[p], p))[: len(trace.anchors)]
    assert sorted(best) == list(trace.anchors)


@pytest.mark.parametrize("policy", POLICIES)
def test_steps_agree_with_the_counters(bare: Engine, policy: str) -> None:
    completion, trace = traced(bare, policy)
    kinds = [step.kind for step in trace.steps]
    probes = [] if policy in ("full", "direct", "first@0.3") else ["probe"]
    assert kinds[: len(probes) + 1] == [*probes, "refresh"]
    assert (len(kinds), kinds.count("refresh")) == (completion.forwards, completion.refreshes)
    total = completion.reuse.prompt_tokens + SHORT.max_tokens
    refresh = trace.steps[len(probes)]
    if "depth" in policy or "blend" in policy:  # some rows do not go through all layers
        assert completion.rows < sum(step.rows for step in trace.steps)
    else:
        assert completion.rows == sum(step.rows for step in trace.steps)
        assert completion.live_rows == pytest.approx(refresh.rows / total)
    affix = completion.reuse.reused + completion.reuse.recomputed
    live = total - completion.reuse.reused if policy != "full" else total
    assert refresh.rows == live
    assert 0 < affix < total
    started = [step.started_s for step in trace.steps]
    assert started == sorted(started)
    assert all(step.seconds > 0 for step in trace.steps)
    timings = completion.timings
    spent = sum(step.seconds for step in trace.steps)
    assert spent == pytest.approx(timings.probe_s + timings.refresh_s + timings.refine_s)


def test_requests_that_share_a_forward_share_its_seconds(model: LoadedModel) -> None:
    told: list[tuple[list[int], float]] = []
    requests = [replace(ask_with("full", *texts), trace=True) for texts in ((), (RIVER,), (RIVER, TOWN))]
    with Engine(
        model, on_forward=lambda steps, seconds: told.append(([len(s.positions) for s in steps], seconds))
    ) as engine:
        completions = engine.generate(requests)
    spent = [one.timings.probe_s + one.timings.refresh_s + one.timings.refine_s for one in completions]
    assert sum(spent) == pytest.approx(sum(seconds for _, seconds in told))
    shares = [own * seconds / sum(rows) for rows, seconds in told for own in rows]
    traces = [one.trace for one in completions if one.trace is not None]
    assert traces[0].steps[0].seconds in [pytest.approx(share) for share in shares]


def test_rows_without_reuse_are_those_and_the_frozen_ones(bare: Engine) -> None:
    full, _ = traced(bare, "full")
    assert full.full_rows == full.rows
    direct, _ = traced(bare, "direct")
    assert direct.full_rows - direct.rows == direct.reuse.reused * direct.refreshes > 0


def test_blend_counts_the_layers_its_check_runs(bare: Engine) -> None:
    completion, trace = traced(bare, "blend@0.2")
    probe, *others = trace.steps
    assert completion.rows == pytest.approx(probe.rows * 2 / 3 + sum(step.rows for step in others))


def test_the_trace_holds_the_ids_as_decoded(bare: Engine) -> None:
    completion, trace = traced(bare, "acache@0.3")
    prompt = bare.tokenize(ask_with("full", RIVER, TOWN).prompt).token_ids
    assert trace.token_ids[: trace.prompt_tokens] == tuple(prompt)
    answer = trace.token_ids[trace.prompt_tokens :]
    assert answer[: completion.completion_tokens] == completion.token_ids
    assert len(answer) == SHORT.max_tokens


def test_nothing_is_kept_unless_asked(bare: Engine) -> None:
    (plain,) = bare.generate([ask_with("acache@0.3", RIVER, TOWN)])
    assert (plain.trace, plain.first_logits) == (None, None)
    full, _ = traced(bare, "acache@0.3")
    assert (plain.token_ids, plain.forwards, plain.rows) == (full.token_ids, full.forwards, full.rows)


def test_comparing_adds_no_row(bare: Engine) -> None:
    plain, _ = traced(bare, "acache@0.3")
    compared, trace = traced(bare, "acache@0.3", compare=True)
    assert (compared.rows, compared.forwards) == (plain.rows, plain.forwards)
    assert trace.steps[-1].kind == "full"
    assert trace.steps[-1].committed == ()


def test_bytes_read_are_those_of_pages_that_were_hit(engine: Engine, registry: Registry) -> None:
    (cold,) = engine.generate([ask_with("direct", RIVER)])
    (mixed,) = engine.generate([ask_with("direct", RIVER, TOWN)])
    (full,) = engine.generate([ask_with("full", RIVER, TOWN)])
    key = engine.model.key(tuple(engine.model.tokenizer.encode(RIVER).ids))
    page = registry.get(key, count=False)
    assert page is not None
    elements = engine.model.predictor.config.kv_elements_per_token * page.tokens
    assert (cold.bytes_read, mixed.bytes_read, full.bytes_read) == (0, page.size_bytes, 0)
    assert page.size_bytes == elements * 4


def test_first_logits_are_those_before_anything_was_decided(bare: Engine) -> None:
    fast = Fast(bare.model.predictor)
    requests = [
        replace(ask_with(policy, RIVER, TOWN), keep_logits=True)
        for policy in ("full", "acache@0.3", "direct")
    ]
    full, anchors, direct = bare.generate(requests)
    prompt = list(bare.tokenize(requests[0].prompt).token_ids)
    with torch.inference_mode():
        expected = fast.logits([*prompt, *[bare.model.predictor.config.mask_id] * SHORT.max_tokens])
    block = expected[len(prompt) : len(prompt) + SHORT.block_length]
    assert full.first_logits is not None
    assert anchors.first_logits is not None
    assert direct.first_logits is not None
    torch.testing.assert_close(full.first_logits, block, atol=1e-4, rtol=1e-4)
    far = (direct.first_logits - block).abs().max()
    assert far > 1e-3
    assert (anchors.first_logits - block).abs().max() > 0


def test_first_logits_hold_no_more_than_their_own_rows(bare: Engine) -> None:
    requests: list[Request] = [replace(ask_with("direct", RIVER), keep_logits=True)] * 3
    for completion in bare.generate(requests):
        assert completion.first_logits is not None
        assert completion.first_logits.untyped_storage().nbytes() == completion.first_logits.nbytes
