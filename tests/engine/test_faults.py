"""What goes wrong stays where it went wrong: bad requests, a failing store or forward, callers who leave."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from engine.asks import RIVER, SHORT, TOWN, ask, ask_about
from torch import Tensor

from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import Step, Work, forward
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.engine import worker as worker_module
from ragcache.engine.pages import PageSource
from ragcache.errors import (
    ConfigError,
    EmptyQuestionError,
    EngineClosedError,
    PromptTooLongError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from ragcache.model.transformer import MaskPredictor
from ragcache.prompt import Prompt
from ragcache.registry import Registry
from ragcache.reuse.context import ReuseContext
from ragcache.reuse.policy import ReusePolicy

Forward = Callable[[MaskPredictor, Sequence[Step]], list[Tensor]]
LONG = DecodingOptions(max_tokens=64, block_length=1)


def fail(error: BaseException) -> Callable[..., None]:
    def raise_it(*args: object, **options: object) -> None:
        raise error

    return raise_it


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Forwards wait until the gate is set."""
    opened = threading.Event()

    def gated(predictor: MaskPredictor, steps: Sequence[Step]) -> list[Tensor]:
        assert opened.wait(10)
        return forward(predictor, steps)

    monkeypatch.setattr(worker_module, "forward", gated)
    return opened


@pytest.mark.parametrize("error", [StoreFullError("the disk is full"), StoreReadOnlyError("read only")])
def test_a_store_that_cannot_be_written_still_answers(
    engine: Engine, bare: Engine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(engine.registry, "put", fail(error))
    (completion,) = engine.generate([ask_about(RIVER)])
    (use,) = completion.reuse.affixes
    assert (use.status, use.reason) == ("built", f"not stored: {error}")
    assert completion.token_ids == bare.generate([ask_about(RIVER)])[0].token_ids


@pytest.mark.parametrize("method", ["get", "building", "texts", "text_digest"])
def test_a_store_that_cannot_be_read_is_a_miss(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    (expected,) = engine.generate([ask_about(TOWN)])
    monkeypatch.setattr(engine.registry, method, fail(StoreUnavailableError("gone")))
    (completion,) = engine.generate([ask_about(RIVER)])
    assert completion.reuse.affixes[0].status == "built"
    (again,) = engine.generate([ask_about(TOWN)])
    assert again.token_ids == expected.token_ids


def test_a_closed_registry_is_a_miss(engine: Engine, registry: Registry) -> None:
    registry.close()
    (completion,) = engine.generate([ask_about(RIVER)])
    assert completion.reuse.affixes[0].status == "built"


def test_a_too_long_prompt_says_by_how_much_and_spares_the_others(bare: Engine) -> None:
    fine, long = bare.submit(ask_about(RIVER)), bare.submit(ask("x" * 400))
    with pytest.raises(PromptTooLongError) as caught:
        long.result(timeout=10)
    needed = bare.tokenize("x" * 400).tokens + SHORT.max_tokens
    assert (caught.value.tokens, caught.value.limit) == (needed, 256)
    assert f"{needed - 256} over" in str(caught.value)
    assert fine.result(timeout=10).completion_tokens > 0


def test_an_answer_that_does_not_fit_is_refused(bare: Engine) -> None:
    with pytest.raises(PromptTooLongError):
        bare.generate([ask("hi", options=DecodingOptions(max_tokens=256))])


@pytest.mark.parametrize("stop", ["end", [3], (None,)], ids=str)
def test_stop_strings_must_be_strings(stop: Any) -> None:
    with pytest.raises(ConfigError, match="give a tuple of strings"):
        Request("hello", stop=stop)


@pytest.mark.parametrize(
    "prompt", ["", " \n", Prompt.user(""), Prompt.user(" ", system="\n"), Prompt.plain("")]
)
def test_an_empty_prompt_is_refused(bare: Engine, prompt: Prompt | str) -> None:
    with pytest.raises(EmptyQuestionError):
        bare.generate([Request(prompt, SHORT)])


def test_a_batch_size_of_zero_is_refused(model: LoadedModel) -> None:
    with pytest.raises(ConfigError, match="max_batch"):
        Engine(model, max_batch=0)


def test_a_cancelled_request_stops_and_the_others_go_on(bare: Engine, gate: threading.Event) -> None:
    doomed, fine = bare.submit(ask("one", options=LONG)), bare.submit(ask("two"))
    assert doomed.cancel()
    gate.set()
    assert fine.result(timeout=10).completion_tokens > 0
    with pytest.raises(CancelledError):
        doomed.result(timeout=1)


def test_whoever_waits_learns_of_a_cancellation(bare: Engine, gate: threading.Event) -> None:
    futures = [bare.submit(ask(f"{n}", options=LONG)) for n in range(20)]  # some run, the others queue
    assert all(future.cancel() for future in futures)
    gate.set()
    assert not wait(futures, timeout=10).not_done


def test_cancelling_ends_the_work_at_the_next_step(bare: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    running, steps = threading.Event(), []

    def counted(predictor: MaskPredictor, own: Sequence[Step]) -> list[Tensor]:
        steps.append(len(own))
        running.set()
        return forward(predictor, own)

    monkeypatch.setattr(worker_module, "forward", counted)
    future = bare.submit(ask("one", options=LONG))
    assert running.wait(10)
    future.cancel()
    bare.generate([ask("two")])
    assert len(steps) < LONG.max_tokens


def test_closing_fails_what_waits_and_finishes_what_runs(model: LoadedModel, gate: threading.Event) -> None:
    engine = Engine(model, max_batch=1)
    admitted = threading.Event()
    running = engine.submit(ask("running"), lambda text: admitted.set())
    waiting = [engine.submit(ask(f"waiting {n}")) for n in range(3)]
    with ThreadPoolExecutor(1) as threads:
        closing = threads.submit(engine.close)
        while not engine._workers.waiting.closed:
            pass
        gate.set()
        closing.result(timeout=10)
    assert all(isinstance(future.exception(timeout=1), EngineClosedError) for future in waiting)
    assert running.done()


def test_a_closed_engine_takes_no_requests_and_closes_again(model: LoadedModel) -> None:
    with Engine(model) as engine:
        pass
    engine.close()
    with pytest.raises(EngineClosedError):
        engine.submit(ask("hello"))
    assert not engine._workers.worker.is_alive()


def test_closing_from_a_callback_does_not_hang(model: LoadedModel) -> None:
    engine, done = Engine(model), threading.Event()

    def close(_: Future[object]) -> None:
        engine.close()
        done.set()

    engine.submit(ask("hello")).add_done_callback(close)
    assert done.wait(10)
    engine._workers.worker.join(10)
    assert not engine._workers.worker.is_alive()


def test_a_poisoned_request_fails_alone(bare: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [ask(f"question {n}") for n in range(4)]
    expected = [completion.token_ids for completion in bare.generate(requests)]
    poison = bare.tokenize("poison").tokens + SHORT.max_tokens

    def poisoned(predictor: MaskPredictor, steps: Sequence[Step]) -> list[Tensor]:
        if any(len(step.positions) == poison for step in steps):
            raise RuntimeError("out of memory")
        return forward(predictor, steps)

    monkeypatch.setattr(worker_module, "forward", poisoned)
    bad, good = bare.submit(ask("poison")), [bare.submit(request) for request in requests]
    assert [future.result(timeout=10).token_ids for future in good] == expected
    with pytest.raises(RuntimeError, match="out of memory"):
        bad.result(timeout=10)


class Bomb:
    """A criterion whose probe fails after the first layer."""

    name = "bomb"

    def score(self, context: ReuseContext) -> Work[Tensor]:
        no_logits = context.live[:0]
        yield Step(context.live, context.token_ids[context.live], no_logits, context.kv, self, "probe")
        return torch.zeros(len(context.frozen))

    def observe(self, layer: int, *_: object) -> None:
        if layer == 1:
            raise RuntimeError("boom")


def test_a_forward_that_is_run_again_probes_anew(bare: Engine, gate: threading.Event) -> None:
    fine = ask_about(RIVER, TOWN)
    bad = replace(ask_about(RIVER), policy=ReusePolicy(0.3, Bomb()))
    futures = [bare.submit(request) for request in (fine, bad, fine)]
    gate.set()
    with pytest.raises(RuntimeError, match="boom"):
        futures[1].result(timeout=10)
    (expected,) = bare.generate([fine])
    for future in (futures[0], futures[2]):
        assert future.result(timeout=10).reuse == expected.reuse
        assert future.result(timeout=10).token_ids == expected.token_ids


def test_the_worker_survives_callbacks_that_raise(bare: Engine) -> None:
    for error in (ZeroDivisionError, SystemExit, KeyboardInterrupt):
        broken = bare.submit(ask("hello"), fail(error()))
        with pytest.raises(error):
            broken.result(timeout=10)
    quiet = bare.submit(ask("hello"))
    quiet.add_done_callback(fail(ZeroDivisionError()))
    assert quiet.result(timeout=10).completion_tokens > 0
    assert bare.generate([ask("still there?")])[0].completion_tokens > 0


def test_an_affix_is_built_by_one_only(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, spans = engine.model, engine.tokenize(ask_about(RIVER).prompt).spans
    both = threading.Barrier(2)
    built: list[int] = []
    monkeypatch.setattr("ragcache.engine.pages.encode_affixes", _counting(built))

    def resolve(_: int) -> str:
        source = PageSource(model, registry)
        both.wait(10)
        (page,) = source.resolve(spans).pages.values()
        return page.status

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(resolve, range(2))) == ["built", "hit"]
    assert len(built) == 1


def _counting(calls: list[int]) -> Callable[..., object]:
    from ragcache.decoding.encode import encode_affixes

    def counted(predictor: MaskPredictor, affixes: Sequence[Sequence[int]], **how: object) -> object:
        calls.append(len(affixes))
        return encode_affixes(predictor, affixes, **how)  # type: ignore[arg-type]

    return counted


def test_a_script_that_forgets_to_close_ends_well(checkpoint: Path) -> None:
    script = (
        "import sys; from ragcache import Engine, Request, load\n"
        "engine = Engine(load(sys.argv[1], device='cpu'))\n"
        "print(engine.submit(Request('Where is the town?')).result().finish_reason)\n"
        "engine.submit(Request('And what is its name?'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(checkpoint)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() in ("stop", "length")
