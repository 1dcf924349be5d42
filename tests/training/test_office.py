"""Pages of free facts: sound data, answers that stand in the text, names of training, lengths that fit."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from ragcache.errors import ConfigError
from ragcache.evaluation.generators import Split, Story, names, pools
from ragcache.model.catalog import NANO
from training.curriculum import STAGES
from training.data import SequenceMaker
from training.office import office_story
from training.office.page import PageWriter
from training.office.plan import Plan, draw
from training.office.questions import Asker
from training.office.sorts import FAMILIES, SLOTS, Kind, Sort, sorts
from training.office.values import expand
from training.stories import PAGE_KINDS

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
SORTS = [sort for family in FAMILIES for sort in sorts(family)]
KINDS = {id(kind): (sort, kind) for sort in SORTS for kind in sort.kinds}
EVERY_KIND = [pytest.param(sort, kind, id=f"{sort.family}-{kind.name}") for sort, kind in KINDS.values()]


def made(seed: int, **settings: object) -> Story:
    given: dict[str, object] = {"docs": (3, 5), "facts": (4, 9), "questions": 8, "kinds": PAGE_KINDS}
    return office_story(random.Random(seed), Split(), **{**given, **settings})  # type: ignore[arg-type]


def planned(seed: int) -> tuple[Plan, tuple[str, ...]]:
    plan = draw(random.Random(seed), Split(), (3, 5), (4, 9))
    return plan, PageWriter(plan).pages()


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 150
    says, asks = ([len(set(block)) for block in blocks] for blocks in (
        [kind.say.train for _, kind in KINDS.values()], [kind.ask.train for _, kind in KINDS.values()]
    ))  # fmt: skip
    assert min(says) >= 5
    assert min(asks) >= 5
    assert sum(says) / len(says) > 7


@pytest.mark.parametrize(("sort", "kind"), EVERY_KIND)
def test_every_wording_has_its_slots(sort: Sort, kind: Kind) -> None:
    for text in kind.say.train:
        assert text.count("{v}") == 1
        assert text.endswith((*"abcdefghijklmnopqrstuvwxyz}",))
    for text in kind.ask.train:
        assert "{v}" not in text
        assert text.endswith(("?", "."))
        assert sum(text.count(slot) for slot in SLOTS) <= 1, "the name would be said twice"
    assert any(slot in text for text in kind.ask.train for slot in SLOTS)
    assert all(any(slot in text for slot in SLOTS) for text in kind.link.train)
    opening = kind.lead or kind.say.train
    assert [text for text in opening if not text.startswith("{v}")]
    plain = [text for text in kind.say.train if not text.startswith("{v}") and " of {o}" not in text]
    assert plain or sort.family != "person"
    if kind.family:
        assert kind.family in FAMILIES
    else:
        assert expand(random.Random(1), Split(), kind.value)


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: f"{sort.family}: {sort.names[:20]}")
def test_no_question_asks_for_two_kinds(sort: Sort) -> None:
    asked = [text for kind in sort.kinds for text in dict.fromkeys(kind.ask.train)]
    assert not {text for text in asked if asked.count(text) > 1}


def test_an_unknown_maker_is_named() -> None:
    with pytest.raises(ConfigError, match="<colr>"):
        expand(random.Random(1), Split(), "<colr> paint")


def test_answers_stand_in_a_page_that_names_whom_they_are_about() -> None:
    for seed in range(150):
        story = made(seed)
        for told in story.told:
            assert told.value in story.docs[told.doc]
        for qa in story.questions:
            if qa.kind == "not_stated":
                assert qa.answer == "not stated"
                continue
            name = qa.bridge or qa.subject
            assert any(told.value == qa.answer and told.subject == name for told in story.told if name) or (
                not name and qa.answer in "\n".join(story.docs)
            )
            assert qa.subject in qa.question
            assert not qa.bridge or qa.bridge not in qa.question


def test_what_is_not_stated_is_told_of_nobody_the_question_names() -> None:
    for seed in range(150):
        plan, pages = planned(seed)
        asker = Asker(plan, pages)
        for subject in [*plan.subjects, *plan.mentioned.values()]:
            given = {
                fact.kind.topic
                for page, one in enumerate(plan.subjects) if one is subject for fact in plan.of(page)
            }  # fmt: skip
            assert not given & {kind.topic for kind in asker._open(subject)}
        stranger = asker._of_stranger()
        known = {subject.entity.name for subject in plan.subjects}
        assert not stranger or not any(name in stranger for name in known)


def test_all_kinds_of_question_are_drawn() -> None:
    kinds = {qa.kind for seed in range(60) for qa in made(seed).questions}
    assert kinds == set(PAGE_KINDS)


def test_names_are_of_the_train_split() -> None:
    held_out = {
        word
        for pool in (pools.FEMALE, pools.MALE, pools.SURNAMES, pools.CITIES, pools.NOUNS)
        for word in pool
        if names.side(word) == "held_out"
    }
    for seed in range(150):
        plan, _ = planned(seed)
        for subject in [*plan.subjects, *plan.mentioned.values()]:
            assert not held_out & set(subject.entity.name.split())
            topic = subject.entity.name.rsplit(" ", 1)[0]
            assert topic not in pools.TOPICS or names.side(topic) == "train"


def test_no_sentence_of_the_handbook_is_made() -> None:
    known = {gram for page in HANDBOOK.glob("*.md") for gram in grams(page.read_text("utf-8"))}
    assert len(known) > 900
    for seed in range(200):
        story = made(seed)
        assert not known & {gram for text in story.docs for gram in grams(text)}


def grams(text: str, size: int = 6) -> Iterator[tuple[str, ...]]:
    """Runs of words within a sentence."""
    for sentence in re.split(r"[.?!]\s|\n", text.lower()):
        words = [word.strip(".,?!:") for word in sentence.split()]
        yield from zip(*(islice(words, at, None) for at in range(size)), strict=False)


def test_the_same_seed_gives_the_same_story() -> None:
    assert made(7) == made(7)
    assert made(7) != made(8)


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage.office])
def test_pages_fit_the_stages(stage: object) -> None:
    maker = SequenceMaker(Tokenizer.from_file(str(NANO / "tokenizer.json")), seed=3)
    drawn = [maker.sequence(replace(stage, office=1.0, linked=0.0)) for _ in range(25)]  # type: ignore[type-var]
    assert sum(one is not None for one in drawn) > 12


def test_the_loader_is_not_kept_waiting() -> None:
    made(0)  # reads the data
    started = time.process_time()
    for seed in range(60):
        made(seed)
    assert 60 / (time.process_time() - started) > 150


def test_empty_ranges_are_refused() -> None:
    with pytest.raises(ConfigError, match="facts"):
        made(1, facts=(3, 2))
