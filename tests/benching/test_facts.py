"""Documents of facts: within their lengths, told once, asked with the answer they state."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from ragcache.benching.arm import scored
from ragcache.benching.facts import Facts, _story, _subjects
from ragcache.benching.load import Load
from ragcache.benching.measure import measure
from ragcache.benching.models import load_model
from ragcache.benching.systems import parse_systems
from ragcache.benching.workloads import WORKLOADS, DocQA, workload_named
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError
from ragcache.model.catalog import find_checkpoint
from ragcache.prompt import ChatTokenizer, tokenize

PROMPT = 1000


@pytest.fixture(scope="module")
def facts() -> Facts:
    return Facts(ChatTokenizer.from_folder(find_checkpoint("nano")))


@pytest.fixture(scope="module")
def nano() -> LoadedModel:
    return load_model("nano", device="cpu")


@pytest.mark.parametrize("name", WORKLOADS)
def test_prompts_keep_to_their_length_and_documents_state_the_answers(name: str, facts: Facts) -> None:
    workload = workload_named(name)(PROMPT)
    asked = workload.ask(facts, 4)
    for affix, most in zip(asked.affixes, workload.lengths(), strict=True):
        assert most // 2 < len(facts.tokenizer.encode(affix.text).ids) <= most
    for prompt, answer in zip(asked.prompts, asked.answers, strict=True):
        found = tokenize(prompt, facts.tokenizer)
        assert found.tokens <= PROMPT
        assert found.skipped == ()
        assert len(found.spans) == len(prompt.affixes)
        assert answer is not None
        assert sum(answer in affix.text for affix in prompt.affixes) >= 1


def test_the_same_seed_asks_the_same_and_offsets_differ_from_request_to_request(facts: Facts) -> None:
    workload = DocQA(PROMPT, documents=4)
    asked = workload.ask(facts, 4, seed=3)
    assert asked == workload.ask(facts, 4, seed=3)
    assert asked != workload.ask(facts, 4, seed=4)
    spans = [tokenize(prompt, facts.tokenizer).spans for prompt in asked.prompts]
    assert len({tuple(sorted((span.name, span.start) for span in found)) for found in spans}) == 4


def test_a_question_has_one_answer_in_all_documents(facts: Facts) -> None:
    documents = facts.documents(Random(0), [150] * 30)
    asked = [question for document in documents for question, _ in document.questions]
    assert len(asked) == len({*asked}) > 30


def test_whom_a_document_tells_of_no_other_one_does() -> None:
    first = _subjects(_story(Random(1), 5, []))
    assert _subjects(_story(Random(1), 5, [])) == first
    assert not _subjects(_story(Random(1), 5, [*first])) & first


def test_texts_without_room_for_a_fact_or_a_question_are_refused(facts: Facts) -> None:
    with pytest.raises(ConfigError, match="no fact fits a document of 8 tokens; give a longer --prompt"):
        facts.documents(Random(0), [8])
    documents = facts.documents(Random(0), [100])
    with pytest.raises(ConfigError, match=r"more than the 10 that are no affix's; give a longer --prompt"):
        facts.asking(Random(0), documents, 10)


def test_answers_are_scored_where_they_are_known() -> None:
    assert scored(["Blue.", "red", "x"], ["blue", "green", None]) == 0.5
    assert scored(["Blue."], [None]) is None


def test_a_model_that_can_answer_has_an_exact_match_and_reuse_keeps_it(nano: LoadedModel) -> None:
    load = Load(DocQA(1000, documents=2), requests=6, batch=6, canvas=16, block=16, texts="facts")
    dual, anchors = measure(nano, parse_systems("acache@0.5", nano.predictor.config.layers), load)
    assert dual.em is not None
    assert anchors.em is not None
    assert dual.em >= 0.5
    assert anchors.em >= dual.em - 0.34
    assert dual.answer_tokens < 6 * 16  # up to the end of the answer, though decoding goes on


def test_the_default_prompt_fills_nanos_window(nano: LoadedModel) -> None:
    window = nano.predictor.config.max_tokens
    load = Load(DocQA(), requests=2, texts="facts").within(window)
    longest = max(tokenize(prompt, nano.tokenizer).tokens for prompt in load.ask(nano).prompts)
    assert 0.9 * window < longest + load.canvas <= window
    assert replace(load, texts="words").ask(nano).answers == (None, None)
