"""Linked stories: derivable from the documents together, from none alone; splits apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

import pytest

from ragcache.errors import ConfigError
from ragcache.evaluation.generators import LINKED_KINDS, Split, Story, linked_story
from ragcache.evaluation.generators.chain_themes import THEMES
from ragcache.evaluation.generators.chunked import INTRODUCE
from ragcache.evaluation.generators.correction import CORRECT
from ragcache.evaluation.generators.kinds import ATTRIBUTES
from ragcache.evaluation.generators.same_as import OWN, SAME
from ragcache.evaluation.generators.schema import QA, Phrases

SPLITS = [Split(), Split("held_out"), Split("held_out", "held_out")]
FOUND = (INTRODUCE, SAME, CORRECT, *(p for t in THEMES for p in (t.refer, t.end, t.ask)))


def _stories(kind: str, split: Split, docs: tuple[int, int] = (4, 8), count: int = 60) -> list[Story]:
    rng = Random(11)
    return [linked_story(rng, split, kind, docs=docs, questions=6) for _ in range(count)]


def _holders(made: Story, text: str) -> list[int]:
    return [
        doc for doc, written in enumerate(made.docs) if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", written)
    ]


def _source(made: Story, qa: QA) -> int:
    """The one document that tells the answer."""
    (doc,) = [told.doc for told in made.told if told.value == qa.answer]
    assert qa.answer in made.docs[doc]
    return doc


@pytest.mark.parametrize("kind", LINKED_KINDS)
@pytest.mark.parametrize("split", SPLITS)
def test_text_is_clean_and_questions_differ(kind: str, split: Split) -> None:
    for made in _stories(kind, split):
        assert 4 <= len(made.docs) <= 8
        assert 1 <= len(made.questions) <= 6
        assert len({qa.question for qa in made.questions}) == len(made.questions)
        for text in (*made.docs, *(qa.question for qa in made.questions)):
            assert text[-1] in "?."
            assert text[0] == text[0].upper()
            assert not re.search(r"  |[{}]|\.\.|\ba [aeio]|\ban [bcdfgkp]|,,| ,", text), text
        assert {qa.kind for qa in made.questions} == {kind}


@pytest.mark.parametrize("kind", LINKED_KINDS)
def test_same_state_same_story_and_one_reading_serves_many(kind: str) -> None:
    assert _stories(kind, Split(), count=5) == _stories(kind, Split(), count=5)
    assert max(len(made.questions) for made in _stories(kind, Split())) >= 3


@pytest.mark.parametrize("kind", LINKED_KINDS)
def test_names_of_the_splits_are_disjoint(kind: str) -> None:
    train, held_out = (
        {told.subject for made in _stories(kind, split) for told in made.told} for split in SPLITS[:2]
    )
    assert len(held_out) > 50
    assert train.isdisjoint(held_out)


@pytest.mark.parametrize("split", SPLITS)
def test_pronoun_chunks_follow_the_name(split: Split) -> None:
    for made in _stories("pronoun", split):
        for qa in made.questions:
            second = _source(made, qa)
            assert made.docs[second - 1].endswith(f"{qa.subject}.")
            assert _holders(made, qa.subject) == [second - 1]
            assert _holders(made, qa.answer) == [second]
            spoken = r"\b(she|her|he|him|his|it|its|the latter|the same \w+)\b"
            assert re.search(spoken, made.docs[second], re.IGNORECASE)
            assert not any(told.subject in made.docs[second] for told in made.told)
        introduced = [doc for doc in made.docs if any(_introduces(t, doc) for t in _lines(INTRODUCE))]
        assert len(introduced) == len(made.docs) // 2 >= 2


def _lines(found: Phrases) -> tuple[str, ...]:
    return (*found.train, *found.held_out)


def _introduces(template: str, doc: str) -> bool:
    return template.removesuffix("{o}").lower() in doc.lower()


@pytest.mark.parametrize("split", SPLITS)
def test_same_as_needs_two_documents(split: Split) -> None:
    for made in _stories("same_as", split, docs=(3, 8)):
        for qa in made.questions:
            source = _source(made, qa)
            (own,) = {t.doc for t in made.told if (t.subject, t.value) == (qa.subject, qa.bridge)}
            assert own != source
            assert qa.bridge in made.docs[own]
            assert qa.bridge in made.docs[source]
            assert _holders(made, qa.answer) == [source]


@pytest.mark.parametrize("split", SPLITS)
def test_corrections_come_later_and_name_the_note(split: Split) -> None:
    by_number = 0
    for made in _stories("correction", split, docs=(3, 8)):
        for qa in made.questions:
            correction = _source(made, qa)
            (note,) = [
                d for d, text in enumerate(made.docs) if re.match(r"Note \d+\. ", text) and qa.subject in text
            ]
            number = made.docs[note].split(".")[0]
            assert note < correction
            assert _holders(made, qa.answer) == [correction]
            assert (number in made.docs[correction]) != (qa.subject in made.docs[correction])
            by_number += number in made.docs[correction]
    assert by_number > 20


@pytest.mark.parametrize("kind", LINKED_KINDS)
def test_the_largest_size_can_be_drawn(kind: str) -> None:
    assert {len(made.docs) for made in _stories(kind, SPLITS[1], docs=(16, 16), count=40)} == {16}


def test_held_out_templates_are_apart_and_their_words_are_taught() -> None:
    taught = _words(line for found in FOUND for line in found.train)
    for found in FOUND:
        assert len(set(found.train)) == len(found.train) >= 3
        assert found.held_out
        assert set(found.train).isdisjoint(found.held_out)
        assert _words(found.held_out) <= taught


def _words(lines: Iterable[str]) -> set[str]:
    bare = " ".join(re.sub(r"\{\w+\}", " ", line) for line in lines)
    return set(re.findall(r"[a-z]{2,}", bare.lower()))


def test_comparable_attributes_exist() -> None:
    for kind, own in OWN.items():
        known = {attribute.name: attribute for attribute in ATTRIBUTES[kind]}
        assert set(own) <= set(known)
        assert not any(known[name].plural for name in own)
        assert all(
            "{t}" in line and ("{s}" in line or "{o}" in line) for p in own.values() for line in p.train
        )


def test_errors_say_what_is_known() -> None:
    with pytest.raises(ConfigError, match="pronoun, same_as"):
        linked_story(Random(0), Split(), "riddle")
    with pytest.raises(ConfigError, match="4 or more"):
        linked_story(Random(0), Split(), "pronoun", docs=(3, 8))
    with pytest.raises(ConfigError, match="at most 16"):
        linked_story(Random(0), Split(), "same_as", docs=(4, 17))
    with pytest.raises(ConfigError, match="questions"):
        linked_story(Random(0), Split(), "same_as", questions=0)
    with pytest.raises(ConfigError, match="held_out"):
        linked_story(Random(0), Split("test"), "chain")
