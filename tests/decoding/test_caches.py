"""dLLM-Cache and the active window: against the reference, at their limits, batched, with reuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcache.decoding.caches import ActiveWindow, DLLMCache, parse_cache
from ragcache.decoding.commit import ConfidenceThreshold, FixedSteps
from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import forward
from ragcache.errors import ConfigError
from ragcache.model.checkpoint import save_model
from ragcache.reuse.policy import Full, parse_policy
from reference.fast_path import BACKENDS, Fast, Parts, backend_named, run_jointly
from reference.generate import decode, threshold
from reference.llada import ReferenceModel
from reference.paths import DLLMReference
from reference.tiny import random_ids, tiny_model

PARTS: Parts = [(True, random_ids(9, 1)), (False, random_ids(4, 2)), (True, random_ids(6, 3))]
SEED = 11  # weights whose answers change with what is seen
PROMPT = [i for _, ids in PARTS for i in ids]


def options(cache: str, tokens: int = 12, block: int = 5) -> DecodingOptions:
    return DecodingOptions(tokens, block, ConfidenceThreshold(0.5), cache)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("kp", "kr", "rho"), [(7, 3, 0.25), (50, 4, 0.5), (50, 50, 0.0), (3, 1, 0.1)])
def test_dllm_equals_the_reference(kp: int, kr: int, rho: float, backend: str, tmp_path: Path) -> None:
    fast = Fast(tiny_model(seed=SEED), backend_named(backend))
    save_model(fast.model, tmp_path)
    wanted = DLLMReference(ReferenceModel(tmp_path), kp, kr, rho).decode(PROMPT, 12, 5, 0.5)
    assert fast.uncached(PARTS, options(f"dllm@{kp},{kr},{rho}")) == wanted


def test_dllm_that_refreshes_everything_every_time_is_no_cache() -> None:
    fast = Fast(tiny_model(seed=SEED))
    assert fast.uncached(PARTS, options("dllm@1,1,0")) == fast.uncached(PARTS, options("none"))


def test_a_window_over_the_whole_canvas_is_the_dual_cache() -> None:
    fast = Fast(tiny_model(seed=SEED))
    assert fast.uncached(PARTS, options("window@12")) == fast.uncached(PARTS, options("dual"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_far_masks_are_neither_computed_nor_seen(backend: str) -> None:
    fast = Fast(tiny_model(seed=SEED), backend_named(backend))
    long = fast.uncached(PARTS, options("window@2", tokens=25))
    short = fast.uncached(PARTS, options("window@2", tokens=7))
    assert long[:5] == short[:5]  # the first block saw two masks after it, however many there were
    assert fast.uncached(PARTS, options("dual", tokens=25))[:5] != long[:5]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_window_is_a_canvas_that_ends_behind_its_buffer(backend: str, tmp_path: Path) -> None:
    fast = Fast(tiny_model(seed=SEED), backend_named(backend))
    save_model(fast.model, tmp_path)
    model, wanted = ReferenceModel(tmp_path), list[int]()
    while len(wanted) < 12:
        seen = min(5 + 3, 12 - len(wanted))
        wanted += decode(model, [*PROMPT, *wanted], seen, 5, threshold(0.5), "dual")[:5]
    assert fast.uncached(PARTS, options("window@3")) == wanted


@pytest.mark.parametrize("policy", ["acache@0.4", "depth=1", "depth=2+acache@0.4", "acache@0.4+once"])
@pytest.mark.parametrize("cache", ["dllm@6,2,0.3", "window@3", "prefix"])
def test_caches_work_with_reuse_on_both_backends_and_in_batches(cache: str, policy: str) -> None:
    chosen = parse_policy(policy)
    outcomes = []
    for backend in BACKENDS:
        fast = Fast(tiny_model(seed=SEED), backend_named(backend))
        alone = fast.answer(PARTS, chosen, options(cache))
        works = [
            fast.work(PARTS, p, options(c)) for p, c in ((chosen, cache), (Full, "dual"), (chosen, cache))
        ]
        jointly, _ = run_jointly(fast.model, works)
        assert jointly[0] == jointly[2] == alone
        outcomes.append(alone)
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_the_work_of_a_partial_step_is_a_share_of_the_canvas() -> None:
    fast = Fast(tiny_model(seed=SEED))
    rule = FixedSteps(2)
    work = fast.work([(False, PROMPT)], Full, DecodingOptions(12, 12, rule, "dllm@50,50,0.25"))
    first = next(work)
    second = work.send(forward(fast.model, [first])[0])
    assert [step.cost(fast.model.config.layers) for step in (first, second)] == [len(PROMPT) + 12, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("triple", "unknown cache mode 'triple'; known: none, prefix, dual, window"),
        ("dual@3", "unknown cache mode"),
        ("window@x", "cache mode 'window@x'"),
        ("window@-1", "buffer of -1"),
        ("dllm@1,2", "give three numbers, as in dllm@50,4,0.25"),
        ("dllm@1,2,x", "cache mode 'dllm@1,2,x'"),
        ("dllm@0,1,0.5", "intervals are 1 or more"),
        ("dllm@5,1,1.5", "share in 0..1"),
    ],
)
def test_cache_modes_that_cannot_be_parsed(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DecodingOptions(cache=text)


def test_short_forms() -> None:
    assert parse_cache("dllm@9,3,0.5") == DLLMCache(9, 3, 0.5)
    assert parse_cache("window@7") == ActiveWindow(7)
