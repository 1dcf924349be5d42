"""Long prompts: as many documents as promised, within their room, one of them with the answer."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tokenizers import Tokenizer

import ragcache
from ragcache.errors import ConfigError
from ragcache.evaluation.generators import LONG_SIZES, Split, dataset, long_story
from ragcache.evaluation.generators.long import CHARACTERS
from ragcache.prompt.rag import SYSTEM

TOKENIZER = Path(ragcache.__file__).parent / "model" / "nano" / "tokenizer.json"


@pytest.mark.parametrize("size", LONG_SIZES)
def test_one_of_many_documents_answers(size: int) -> None:
    for example in dataset(f"long_{size}", 8, seed=size):
        assert len(example.docs) == len(set(example.docs)) == size
        assert sum(map(len, example.docs)) <= CHARACTERS
        assert sum(example.answer in doc for doc in example.docs) == 1


def test_sizes_are_drawn_from_all() -> None:
    assert {len(example.docs) for example in dataset("long", 60)} == set(LONG_SIZES)


@pytest.mark.parametrize("names", ["train", "held_out"])
def test_the_document_of_the_subject_has_the_answer(names: str) -> None:
    rng, places = Random(1), set()
    for _ in range(40):
        made = long_story(rng, Split(names), 8)
        (qa,) = made.questions
        (doc,) = [doc for doc, text in enumerate(made.docs) if qa.subject in text]
        assert qa.answer in made.docs[doc]
        assert qa.subject in qa.question
        places.add(doc)
        assert all(told.subject in made.docs[told.doc] for told in made.told)
    assert len(places) > 5


def test_the_largest_prompt_fits_the_window() -> None:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    for example in dataset("long_64", 6):
        text = "\n\n".join((SYSTEM.text, *example.docs, f"Question: {example.question}"))
        assert len(tokenizer.encode(text).ids) < 2048 - 128


def test_room_limits_documents_and_may_be_too_little() -> None:
    made = long_story(Random(0), Split(), 10, characters=600)
    assert all(len(doc) <= 60 for doc in made.docs)
    with pytest.raises(ConfigError, match="60 for each"):
        long_story(Random(0), Split(), 11, characters=600)
    with pytest.raises(ConfigError, match="1 or more"):
        long_story(Random(0), Split(), 0)
