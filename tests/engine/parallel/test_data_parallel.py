"""An engine over two replicas answers, fails and ends like an engine in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from engine.asks import RIVER, SHORT, TOWN, ask, ask_about, ask_with, check_sums

from ragcache.connectors.langchain import RagCacheLLM
from ragcache.connectors.langchain.engine_handle import EngineHandle
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, DataParallelEngine, Engine, Request
from ragcache.engine.parallel.ledger import Serving
from ragcache.errors import (
    ConfigError,
    EmptyQuestionError,
    EngineBusyError,
    PromptTooLongError,
    RequestTimeoutError,
    UnknownAffixError,
    UnknownModelError,
)
from ragcache.registry import Registry
from ragcache.reuse.policy import Direct, ReusePolicy, parse_policy

WAIT_S = 900  # for replicas, on a machine that is busy with something else
LONG = DecodingOptions(max_tokens=128, block_length=1)
REQUESTS = [
    ask_about(RIVER),
    ask_about(TOWN, RIVER, question="Where?", budget=0.0),
    ask("no documents at all", options=DecodingOptions(max_tokens=5, block_length=2)),
    ask_about(RIVER, RIVER, TOWN, question="?", budget=1.0, options=DecodingOptions(24, 24)),
    ask_about(TOWN, question="What is old?", options=DecodingOptions(12, 4, temperature=1.0, seed=7)),
    replace(ask_about(RIVER, TOWN, trace=True, keep_logits=True), policy=parse_policy("vsim@0.3+once")),
]


def serving(engine: DataParallelEngine) -> list[Serving]:
    """Both replicas, once they serve and have nothing to do."""
    pool = engine._pool
    with pool._changed:
        found = pool._ledger._serving
        assert pool._changed.wait_for(
            lambda: len(found) == 2 and not any(one.state.rows for one in found.values()), WAIT_S
        )
        return [found[0], found[1]]


def test_answers_are_those_of_a_single_engine(replicated: DataParallelEngine, bare: Engine) -> None:
    expected, found = bare.generate(REQUESTS), replicated.generate(REQUESTS)
    assert [one.token_ids for one in found] == [one.token_ids for one in expected]
    assert [one.text for one in found] == [one.text for one in expected]
    assert all(one.cost.count for one in serving(replicated))
    for one, request in zip(found, REQUESTS, strict=True):
        check_sums(one, bare.tokenize(request.prompt).tokens)
    assert torch.equal(found[-1].first_logits, expected[-1].first_logits)  # type: ignore[arg-type]
    assert found[-1].trace.anchors == expected[-1].trace.anchors  # type: ignore[union-attr]


def test_requests_go_where_their_affix_is_and_others_to_who_has_less_to_do(
    replicated: DataParallelEngine,
) -> None:
    own = "A text that stands nowhere else, and is long enough to have a page of its own."
    serving(replicated)
    busy = replicated.submit(ask("keeps the first replica busy", options=LONG))
    (first,) = replicated.generate([ask_about(own)])
    assert first.reuse.affixes[0].status == "built"
    busy.result(WAIT_S)
    before = [one.cost.count for one in serving(replicated)]
    again = [replicated.generate([ask_about(own, question=f"{n}?")])[0] for n in range(3)]
    after = [one.cost.count for one in serving(replicated)]
    assert (after[0] - before[0], after[1] - before[1]) == (0, sum(one.forwards for one in again))


def test_warm_pages_are_seen_by_all(replicated: DataParallelEngine, shared_registry: Registry) -> None:
    texts = [f"The text number {n} is one that has to be warmed before it is asked about." for n in range(3)]
    built, there = replicated.warm(texts), replicated.warm(texts)
    assert [page.status for page in built.pages.values()] == ["built"] * 3
    assert [page.status for page in there.pages.values()] == ["hit"] * 3
    assert set(built.pages) == {tuple(replicated.model.tokenizer.encode(text).ids) for text in texts}
    assert [s.status for s in replicated.preview(ask_about(texts[0])).sections if s.name] == ["hit"]
    shared_registry.register("first", texts[0])
    assert [page.status for page in replicated.warm_names(["first"]).pages.values()] == ["hit"]
    with pytest.raises(UnknownAffixError):
        replicated.warm_names(["second"])
    with pytest.raises(PromptTooLongError, match="affix"):
        replicated.warm(["x" * 400])
    assert replicated.warm([]).pages == {}


def test_what_computes_nothing_is_as_in_a_single_engine(
    replicated: DataParallelEngine, model: Any, shared_registry: Registry
) -> None:
    request = ask_about(RIVER, "tiny")
    with Engine(model, shared_registry) as engine:
        assert replicated.tokenize(request.prompt) == engine.tokenize(request.prompt)
        assert replicated.tokenize("x", min_tokens=9) == engine.tokenize("x", min_tokens=9)
        assert replicated.preview(request) == engine.preview(request)
        assert replicated.resolve_policy() == engine.resolve_policy() == ReusePolicy()
        assert replicated.resolve_policy(Direct) == Direct
    assert (replicated.model.fingerprint, replicated.model.config) == (model.fingerprint, model.config)


def test_pieces_are_streamed_in_order(replicated: DataParallelEngine, bare: Engine) -> None:
    request, ends = ask_about(RIVER, options=DecodingOptions(24, 4)), []
    (expected,) = bare.generate([request])

    def until_the_end() -> Iterator[str]:
        ends.append((yield from replicated.stream(request)))

    pieces = list(until_the_end())
    assert [end.token_ids for end in ends] == [expected.token_ids]
    assert len(pieces) > 1
    assert "".join(pieces) == expected.text


def test_errors_are_those_of_a_single_engine(replicated: DataParallelEngine, bare: Engine) -> None:
    with pytest.raises(EmptyQuestionError):
        replicated.submit(Request(" "))
    with pytest.raises(PromptTooLongError) as caught:
        replicated.submit(ask("x" * 400)).result(WAIT_S)
    needed = bare.tokenize("x" * 400).tokens + SHORT.max_tokens
    assert (caught.value.tokens, caught.value.limit) == (needed, 256)
    with pytest.raises(ConfigError, match="layers"):
        replicated.submit(ask_with("depth=99", RIVER)).result(WAIT_S)
    with pytest.raises(RequestTimeoutError, match=r"no answer within 0\.001 s"):
        replicated.submit(ask("hello", timeout_s=0.001)).result(WAIT_S)


def test_a_callback_that_raises_fails_its_own_request(replicated: DataParallelEngine) -> None:
    def trip(text: str) -> None:
        raise ZeroDivisionError("own fault")

    tripped, fine = replicated.submit(ask("hello"), trip), replicated.submit(ask("hello"))
    with pytest.raises(ZeroDivisionError):
        tripped.result(WAIT_S)
    assert fine.result(WAIT_S).completion_tokens > 0


@pytest.fixture
def crowd(replicated: DataParallelEngine) -> Iterator[list[Future[Completion]]]:
    """More requests than replicas may have at a time, and as many waiting as may; cancelled in the end."""
    serving(replicated)
    futures: list[Future[Completion]] = []
    with suppress(EngineBusyError):
        while True:
            futures.append(replicated.submit(ask(f"question {len(futures)}", options=LONG)))
    yield futures
    for future in futures:
        future.cancel()
    serving(replicated)


def test_who_cancels_stops_the_work_and_makes_room(
    replicated: DataParallelEngine, crowd: list[Future[Completion]]
) -> None:
    assert len(crowd) >= 4
    for future in crowd:
        future.cancel()
    serving(replicated)
    with pytest.raises(CancelledError):
        crowd[0].result(0)
    assert replicated.submit(ask("hello"), wait=True).result(WAIT_S).completion_tokens > 0


def test_a_killed_replica_costs_nobody_an_answer(replicated: DataParallelEngine, bare: Engine) -> None:
    requests = [ask_about(RIVER, question=f"Question {n}?") for n in range(6)]
    expected = [completion.token_ids for completion in bare.generate(requests)]
    serving(replicated)
    before = replicated.pids
    futures = [replicated.submit(request, wait=True) for request in requests]
    os.kill(before[0], signal.SIGKILL)
    assert [future.result(WAIT_S).token_ids for future in futures] == expected
    pool = replicated._pool
    with pool._changed:  # that it died may be noticed later than it was answered for
        assert pool._changed.wait_for(lambda: replicated.pids[0] != before[0] and len(pool) == 2, WAIT_S)
    assert replicated.pids[1] == before[1]
    assert replicated.generate(requests[:1])[0].token_ids == expected[0]


def test_langchain_takes_it_for_an_engine(replicated: DataParallelEngine, bare: Engine) -> None:
    def ask_both(prompt: str) -> list[str]:
        engines = (replicated, bare)
        return [RagCacheLLM(engine=EngineHandle.of(one), max_tokens=8).invoke(prompt) for one in engines]

    one, other = ask_both("How long is the river?")
    assert one == other
    llm = RagCacheLLM(engine=EngineHandle.of(replicated), affixes={"river": RIVER})
    assert llm.get_token_ids("the river") == list(bare.model.tokenizer.encode("the river").ids)
    assert llm.explain(f"{RIVER}\nHow long?").affixes("hit", "missing")
    assert llm.engine.window == 256


def test_what_cannot_be_started_says_why(checkpoint: Path) -> None:
    with pytest.raises(ConfigError, match="give a list"):
        DataParallelEngine(str(checkpoint), devices="cpu")
    with pytest.raises(ConfigError, match="give a list"):
        DataParallelEngine(str(checkpoint), devices=[])
    with pytest.raises(UnknownModelError):
        DataParallelEngine(str(checkpoint / "nothing"), devices=["cpu"])
    with pytest.raises(ConfigError, match="'cuda:63'"):
        DataParallelEngine(str(checkpoint), devices=["cuda:63"])


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "code"), [("pass", 0), ("os.kill(os.getpid(), 9)", -9)])
def test_no_replica_outlives_an_interpreter_that_closed_nothing(
    checkpoint: Path, ending: str, code: int
) -> None:
    script = f"""
import os
from ragcache.engine import DataParallelEngine, Request
engine = DataParallelEngine({str(checkpoint)!r}, devices=["cpu", "cpu"])
engine.submit(Request("hello"))
print(*engine.pids, flush=True)
{ending}
"""
    done = subprocess.run(  # which ends when the last process that has its stderr does
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert (done.returncode, len(done.stdout.split())) == (code, 2)
