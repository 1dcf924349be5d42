"""Answers of an evaluation, with an engine whose answers are known."""

from __future__ import annotations

import math
from concurrent.futures import Future
from typing import cast

import pytest
import torch

from ragcache.engine import Completion, Engine, Request, ReuseReport, Timings
from ragcache.errors import ConfigError, PromptTooLongError
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.generators import Example
from ragcache.evaluation.placement import PLACEMENTS, placement_named
from ragcache.evaluation.run import Arm, Trial, agreement, divergence, evaluate
from ragcache.prompt import Affix, Prompt
from ragcache.reuse.policy import Direct, Full

EXAMPLES = [Example("Who?", ("A text.", "Another."), "ines"), Example("Where?", ("A text.",), "old town")]
ANSWERS = {("full", "Who?"): "Ines.", ("full", "Where?"): "town",
           ("direct", "Who?"): "Ines.", ("direct", "Where?"): "sea"}  # fmt: skip


class KnownAnswers:
    """Answers by policy and question, and notes what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def submit(self, request: Request, *, wait: bool = False) -> Future[Completion]:
        assert isinstance(request.prompt, Prompt)
        policy = request.policy.name if request.policy else ""
        question = "Who?" if "Who?" in request.prompt.messages[-1].text else "Where?"
        self.requests.append(request)
        answer = ANSWERS[policy, question]
        done = Completion(
            answer, tuple(answer.encode()), "stop", ReuseReport((), 10, 0, 0, 10),
            Timings(probe_s=0.5, refresh_s=0.25), 3, "known", policy, rows=41.6, live_rows=0.5, bytes_read=7,
            first_logits=torch.zeros(2, 4) if policy == "full" else torch.tensor([[0.0, 0, 0, 9]] * 2),
        )  # fmt: skip
        future: Future[Completion] = Future()
        future.set_result(done)
        return future


def ask(engine: KnownAnswers, trial: Trial, **more: object) -> list[Answer]:
    return evaluate(cast(Engine, engine), trial, **more)  # type: ignore[arg-type]


def test_answers_are_scored_and_compared_with_full() -> None:
    seen: list[Answer] = []
    engine = KnownAnswers()
    answers = ask(engine, Trial("mine", EXAMPLES, [Direct, Full]), on_answer=seen.append)
    assert answers == seen
    assert [(a.policy, a.index, a.em) for a in answers] == [
        ("full", 0, 1.0), ("full", 1, 0.0), ("direct", 0, 1.0), ("direct", 1, 0.0)
    ]  # fmt: skip
    full, direct = answers[1], answers[3]
    assert (full.agreement, full.kl) == (1.0, pytest.approx(0.0))
    assert direct.agreement == 0.0  # "town" and "sea" share no token at its place
    assert direct.kl is not None
    assert direct.kl > 1.0
    assert (full.f1, full.rows_computed, full.live_rows) == (pytest.approx(2 / 3), 42, 0.5)
    assert (full.forwards, full.probe_s, full.refresh_s, full.bytes_read) == (3, 0.5, 0.25, 7)


def test_without_full_there_is_nothing_to_agree_with() -> None:
    [one, _] = ask(KnownAnswers(), Trial("mine", EXAMPLES, [Direct]))
    assert (one.agreement, one.kl) == (None, None)


def test_what_is_done_is_not_asked_again_except_full_for_comparison() -> None:
    trial = Trial("mine", EXAMPLES, [Full, Direct])
    engine = KnownAnswers()
    done = {trial.key(Arm(Full), 0), trial.key(Arm(Full), 1), trial.key(Arm(Direct), 0)}
    [answer] = ask(engine, trial, done=done)
    assert (answer.policy, answer.index, answer.agreement) == ("direct", 1, 0.0)
    assert len(engine.requests) == 2  # full for the one example that is left, and direct
    assert ask(engine, trial, done=done | {answer.key}) == []
    assert len(engine.requests) == 2


def test_codecs_are_an_axis_and_full_which_uses_no_page_is_asked_once() -> None:
    engine = KnownAnswers()
    trial = Trial("mine", EXAMPLES[:1], [Direct, Full], codecs=("int8", "raw"))
    answers = ask(engine, trial)
    wanted = [("full", "raw"), ("direct", "int8"), ("direct", "raw")]
    assert [(a.policy, a.codec) for a in answers] == wanted
    assert [(r.policy.name, r.codec) for r in engine.requests if r.policy] == wanted
    assert trial.all_keys() == [a.key for a in answers]
    assert all(a.agreement is not None for a in answers)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_documents_are_affixes_and_the_question_is_not(placement: str) -> None:
    documents = [Affix(f"d{number}", f"Text {number}.") for number in range(3)]
    prompt = placement_named(placement)("Who?", documents)
    assert list(prompt.affixes)[1:] == documents
    text = prompt.messages[-1].text
    before = sum(text.index(d.text) < text.index("Who?") for d in documents)
    assert before == {"prefix": 3, "infix": 3, "suffix": 0, "mixed": 2}[placement]
    assert text.startswith("Documents") == (placement == "infix")


def test_an_unknown_placement() -> None:
    with pytest.raises(ConfigError, match="unknown placement 'above'; known: prefix, infix, suffix, mixed"):
        placement_named("above")


def test_a_prompt_that_does_not_fit_is_named() -> None:
    class Failing(KnownAnswers):
        def submit(self, request: Request, *, wait: bool = False) -> Future[Completion]:
            future = super().submit(request)
            if "Where?" in request.prompt.messages[-1].text:  # type: ignore[union-attr]
                future = Future()
                future.set_exception(PromptTooLongError(9, 8))
            return future

    with pytest.raises(PromptTooLongError, match="example 2: 9 tokens"):
        ask(Failing(), Trial("mine", EXAMPLES, [Full]))


def test_agreement_counts_equal_tokens_at_equal_places() -> None:
    assert agreement((1, 2, 3), (1, 2, 4)) == pytest.approx(2 / 3)
    assert agreement((1, 2), (1, 2, 4, 5)) == 0.5
    assert agreement((), ()) == 1.0
    assert agreement((), (1,)) == 0.0


def test_divergence_is_the_mean_over_masks() -> None:
    full = torch.tensor([[0.0, 0.0], [math.log(3.0), 0.0]])
    ours = torch.tensor([[math.log(3.0), 0.0], [math.log(3.0), 0.0]])
    wanted = (0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)) / 2
    assert divergence(full, ours) == pytest.approx(wanted)
    assert divergence(None, ours) is None
