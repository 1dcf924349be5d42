"""Made-up words replace a story's own, everywhere alike."""

from __future__ import annotations

import random

import pytest
from tokenizers import Tokenizer

from ragcache.evaluation.generators import QA, Story, Told
from ragcache.model.catalog import NANO
from training.substitute import Substituter


@pytest.fixture
def substituter() -> Substituter:
    return Substituter(Tokenizer.from_file(str(NANO / "tokenizer.json")), random.Random(4))


def test_the_same_word_everywhere(substituter: Substituter) -> None:
    made = Story(
        ("Ines Calder leads the Heron team.", "Ines Calder paints."),
        (QA("Who leads the Heron team?", "Ines Calder", "single"), QA("Who?", "not stated", "not_stated")),
    )
    new = substituter.apply(made, share=1.0)
    answer = new.questions[0].answer
    assert answer != "Ines Calder"
    assert all(answer in doc for doc in new.docs)
    assert new.docs[0] == f"{answer} leads the Heron team."
    assert new.questions[1].answer == "not stated"


def test_units_and_template_words_stay(substituter: Substituter) -> None:
    made = Story(("It takes 14 days.",), (QA("How long?", "14 days", "number"),))
    assert substituter.apply(made, share=1.0) == made


def test_capitals_are_kept(substituter: Substituter) -> None:
    for _ in range(50):
        assert substituter.word("Calder")[0].isupper()
        assert substituter.word("rowing").islower()


def test_a_word_is_the_same_with_and_without_a_capital(substituter: Substituter) -> None:
    made = Story(
        ("Key policy\nThe key policy is long.", "Ines Calder reads ines.calder@mail.com."),
        (),
        (Told(0, "key policy", "long"), Told(1, "Ines Calder", "ines.calder@mail.com")),
    )
    for _ in range(20):
        new = substituter.apply(made, share=1.0)
        title, _, text = new.docs[0].partition("\n")
        assert title.lower().removesuffix(" policy") in text
        first, last, *_ = new.docs[1].split()
        assert f"{first}.{last}".lower() in new.docs[1]


def test_words_that_hold_a_list_together_stay(substituter: Substituter) -> None:
    made = Story(("Ada and Bob meet here.",), (QA("Who?", "Ada and Bob", "list"),))
    assert " and " in substituter.apply(made, share=1.0).questions[0].answer


def test_many_words_are_of_several_short_tokens(substituter: Substituter) -> None:
    """As names are that the tokenizer never saw: three tokens or more."""
    tokenizer = Tokenizer.from_file(str(NANO / "tokenizer.json"))
    sizes = [len(tokenizer.encode(f" {substituter.word('Calder')}").ids) for _ in range(400)]
    assert sum(size >= 3 for size in sizes) > 240
