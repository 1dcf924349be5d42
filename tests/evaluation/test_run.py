"""Rows of an evaluation, with an engine whose answers are known."""

from __future__ import annotations

from concurrent.futures import Future
from typing import cast

import pytest

from ragcache.engine import Completion, Engine, Request, ReuseReport, Timings
from ragcache.errors import PromptTooLongError
from ragcache.evaluation.generators import Example
from ragcache.evaluation.run import evaluate
from ragcache.prompt import Prompt
from ragcache.reuse.policy import Direct, Full

EXAMPLES = [Example("Who?", ("A text.", "Another."), "ines"), Example("Where?", ("A text.",), "old town")]
ANSWERS = {("full", 0): "Ines.", ("full", 1): "town", ("direct", 0): "Ines.", ("direct", 1): "sea"}


class KnownAnswers:
    """Answers in the order of submission; every second prompt token is reused under `direct`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def submit(self, request: Request) -> Future[Completion]:
        policy = request.policy.name if request.policy else ""
        number = sum(1 for earlier in self.requests if earlier.policy == request.policy)
        self.requests.append(request)
        reused = 5 if policy == "direct" else 0
        report = ReuseReport((), 10, reused, 0, 10 - reused)
        future: Future[Completion] = Future()
        answer = ANSWERS[policy, number]
        future.set_result(Completion(answer, (), "stop", report, Timings(), number + 1, "known", policy))
        return future


def test_rows_hold_means(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, seen = KnownAnswers(), []
    full, direct = evaluate(
        cast(Engine, engine), EXAMPLES, [Full, Direct], dataset="mine", on_answer=lambda: seen.append(1)
    )
    assert (full.dataset, full.policy, full.n, full.forwards) == ("mine", "full", 2, 1.5)
    assert (full.em, full.f1, full.agreement, full.reused) == (0.5, pytest.approx((1 + 2 / 3) / 2), 1.0, 0.0)
    assert (direct.em, direct.f1, direct.agreement, direct.reused) == (0.5, 0.5, 0.5, 0.5)
    assert len(seen) == 4


def test_documents_are_affixes_and_the_question_is_not() -> None:
    engine = KnownAnswers()
    [row] = evaluate(cast(Engine, engine), EXAMPLES, [Direct], dataset="mine")
    assert row.agreement is None
    prompt = engine.requests[0].prompt
    assert isinstance(prompt, Prompt)
    assert [affix.text for affix in prompt.affixes][1:] == ["A text.", "Another."]
    assert prompt.messages[-1].text.endswith("Question: Who?")


def test_a_prompt_that_does_not_fit_is_named() -> None:
    futures: list[Future[Completion]] = [Future(), Future()]
    futures[1].set_exception(PromptTooLongError(9, 8))
    futures[0].set_result(Completion("", (), "stop", ReuseReport((), 1, 0, 0, 1), Timings(), 1, "m", "full"))

    class Failing:
        def submit(self, request: Request) -> Future[Completion]:
            return futures[len(request.prompt.affixes) == 2]  # type: ignore[union-attr]

    examples = [Example("Who?", ("A text.", "Another."), "x"), Example("Where?", ("A text.",), "y")]
    with pytest.raises(PromptTooLongError, match="example 2: 9 tokens"):
        evaluate(cast(Engine, Failing()), examples, [Full], dataset="mine")
