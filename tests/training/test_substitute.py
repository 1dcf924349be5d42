"""Made-up words replace a story's own, everywhere alike."""

from __future__ import annotations

import random

import pytest
from tokenizers import Tokenizer

from ragcache.evaluation.generators import QA, Story
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
