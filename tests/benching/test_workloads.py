"""Prompts of exact length, at offsets that differ, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from ragcache.benching.words import Words, composition
from ragcache.benching.workloads import (
    WORKLOADS,
    Agents,
    DocQA,
    LongDocument,
    Rag,
    Workload,
    split,
    workload_named,
)
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError
from ragcache.prompt import Prompt, TokenizedPrompt, tokenize

SMALL: tuple[Workload, ...] = (
    DocQA(200, documents=4),
    Rag(200, documents=10, top_k=3),
    Agents(200),
    LongDocument(200),
)


@pytest.fixture(scope="module")
def words(model: LoadedModel) -> Words:
    return Words.of(model.tokenizer)


def read(model: LoadedModel, prompt: Prompt) -> TokenizedPrompt:
    return tokenize(prompt, model.tokenizer)


@pytest.mark.parametrize("workload", SMALL, ids=lambda workload: type(workload).__name__)
def test_every_affix_is_served_whole_and_lengths_are_exact(
    workload: Workload, model: LoadedModel, words: Words
) -> None:
    asked = workload.ask(words, 6)
    assert [len(model.tokenizer.encode(affix.text).ids) for affix in asked.affixes] == [*workload.lengths()]
    for prompt in asked.prompts:
        found = read(model, prompt)
        assert found.skipped == ()
        lengths = [len(model.tokenizer.encode(affix.text).ids) for affix in prompt.affixes]
        assert [span.tokens for span in found.spans] == lengths
        assert found.tokens == sum(lengths) + workload.fresh
        assert isinstance(workload, Agents) or found.tokens == workload.prompt


def test_the_default_of_doc_qa_is_4096_tokens_of_which_nine_tenths_in_eight_affixes() -> None:
    workload = DocQA()
    assert workload.prompt == 4096
    assert len(workload.lengths()) == 8
    assert sum(workload.lengths()) == round(0.9 * 4096)
    assert sum(workload.lengths()) + workload.fresh == 4096


def test_affixes_stand_elsewhere_in_every_request(model: LoadedModel, words: Words) -> None:
    prompts = [read(model, prompt) for prompt in SMALL[0].ask(words, 6).prompts]
    orders = {tuple(span.name for span in prompt.spans) for prompt in prompts}
    offsets = {tuple(span.start for span in prompt.spans) for prompt in prompts}
    assert len(orders) > 1
    assert len(offsets) == 6


@pytest.mark.parametrize("workload", SMALL, ids=lambda workload: type(workload).__name__)
def test_a_seed_repeats_and_another_differs(workload: Workload, words: Words) -> None:
    assert workload.ask(words, 3, seed=1) == workload.ask(words, 3, seed=1)
    assert workload.ask(words, 3, seed=1) != workload.ask(words, 3, seed=2)


def test_popularity_falls_with_the_rank_and_a_request_names_no_document_twice() -> None:
    workload, rng = Rag(), Random(0)
    orders = [workload.order(rng) for _ in range(400)]
    assert all(len(set(order)) == workload.top_k for order in orders)
    uses = Counter(number for order in orders for number in order)
    first, middle, last = (sum(uses[n] for n in range(at, at + 8)) for at in (0, 28, 56))
    assert first > 2 * middle > 2 * last > 0
    assert sum(order != sorted(order) for order in orders) > 390  # popular ones do not stand first


def test_without_skew_all_documents_are_as_popular() -> None:
    rng = Random(0)
    uses = Counter(n for _ in range(2000) for n in Rag(skew=0.0).order(rng))
    assert max(uses.values()) < 2 * min(uses.values())


def test_agents_share_prompts_of_rising_length() -> None:
    lengths = Agents().lengths()
    assert [round(tokens / 1024) for tokens in lengths] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_prompt_too_short_for_its_affixes_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="a longer --prompt"):
        workload_named(name)(prompt=8)


def test_bad_shares_and_names_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"a share of 1\.0"):
        DocQA(share=1.0)
    with pytest.raises(ConfigError, match="unknown workload 'chat'; known: doc-qa, rag, agents, long"):
        workload_named("chat")


def test_parts_add_up() -> None:
    assert split(11, 4) == (3, 3, 3, 2)
    parts = composition(Random(0), 20, 5)
    assert (len(parts), sum(parts), min(parts) > 0) == (5, 20, True)
    assert composition(Random(0), 5, 5) == [1] * 5
