"""Stories are deterministic, grounded, well-formed, and keep their splits apart."""

from __future__ import annotations

import re
from random import Random

import pytest

from ragcache.errors import ConfigError
from ragcache.evaluation.generators import KINDS, Split, Story, story
from ragcache.evaluation.generators.frames import ASK, STATE
from ragcache.evaluation.generators.kinds import ATTRIBUTES
from ragcache.evaluation.generators.names import MAKERS, side
from ragcache.evaluation.generators.plan import Plan, draw
from ragcache.evaluation.generators.qa import NOT_STATED, SPANS, Asker
from ragcache.evaluation.generators.render import Writer

ALL = dict.fromkeys(KINDS, 1.0)
SPLITS = [Split(), Split("held_out", "train"), Split("held_out", "held_out")]


def _stories(count: int, split: Split) -> list[Story]:
    rng = Random(7)
    return [story(rng, split, questions=9, kinds=ALL) for _ in range(count)]


def _written(seed: int, split: Split) -> tuple[Plan, tuple[str, ...], Asker]:
    plan = draw(Random(seed), split, (2, 5), (2, 4), 0.2)
    writer = Writer(plan)
    docs = writer.documents()
    return plan, docs, Asker(plan, docs, writer.clozes)


def test_same_seed_same_story() -> None:
    assert story(Random(3), Split()) == story(Random(3), Split())
    assert story(Random(3), Split()) != story(Random(4), Split())


@pytest.mark.parametrize("split", SPLITS)
def test_answers_are_spans_and_text_is_clean(split: Split) -> None:
    kinds = set()
    for told in _stories(150, split):
        text = "\n".join(told.docs)
        for qa in told.questions:
            kinds.add(qa.kind)
            assert qa.kind not in SPANS or qa.answer in text
            assert qa.kind != "yes_no" or qa.answer in ("yes", "no")
            assert (qa.kind == "not_stated") == (qa.answer == NOT_STATED)
            assert qa.question[-1] in "?."
            assert qa.question[0].upper() == qa.question[0]
        for line in (*text.split("\n"), *(qa.question for qa in told.questions)):
            assert line == line.strip()
            assert not re.search(r"  |[{}]|(?<!\.)\.\.(?!\.)|\ba [aeio]|\ban [bcdfgkp]|,,| ,", line), line
        assert all(doc for doc in told.docs)
        assert len({qa.question for qa in told.questions}) == len(told.questions)
    assert kinds == set(KINDS)


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_names_of_the_splits_are_disjoint(kind: str) -> None:
    rng = Random(1)
    train = {MAKERS[kind](rng, Split()).name for _ in range(600)}
    held_out = {MAKERS[kind](rng, Split("held_out")).name for _ in range(600)}
    assert len(held_out) > 9
    assert train.isdisjoint(held_out)
    if kind == "person":
        assert {word for name in train for word in name.split()}.isdisjoint(
            word for name in held_out for word in name.split()
        )


def test_the_side_of_a_name_is_stable() -> None:
    assert [side(name) for name in ("Torvane", "Falcon", "Vell", "Oslo", "KX-402")] == [
        side(name) for name in ("TORVANE", "falcon", "vell", "OSLO", "kx-402")
    ]
    share = sum(side(f"name{n}") == "held_out" for n in range(3000)) / 3000
    assert 0.1 < share < 0.25


def test_attributes_have_enough_templates_and_disjoint_splits() -> None:
    for kind, attributes in ATTRIBUTES.items():
        assert len({a.name for a in attributes}) == len(attributes) >= 8, kind
        for a in attributes:
            where = f"{kind}.{a.name}"
            assert len(a.say.train) + len(STATE.train) >= 8, where
            assert len(a.say.held_out) + len(STATE.held_out) >= 3, where
            assert len(a.ask.train) + len(ASK.train) >= 5, where
            assert len(a.ask.held_out) >= 2, where
            assert set(a.say.train).isdisjoint(a.say.held_out), where
            assert set(a.ask.train).isdisjoint(a.ask.held_out), where
            assert all("{v}" in t for t in (*a.say.train, *a.say.held_out)), where
            assert all(t.endswith(("?", ".")) for t in (*a.ask.train, *a.ask.held_out)), where


def test_every_fact_is_written_in_its_document() -> None:
    for seed in range(120):
        plan, docs, _ = _written(seed, Split())
        for fact in plan.facts:
            assert fact.value.answer in docs[fact.doc]
            assert fact.entity.name.lower() in docs[fact.doc].lower()
            if fact.old is not None:
                assert fact.old.answer in docs[fact.old_doc if fact.old_doc >= 0 else fact.doc]


def test_not_stated_is_not_stated() -> None:
    asked = 0
    for seed in range(150):
        plan, docs, asker = _written(seed, Split())
        stated = {(f.entity.name, f.attribute.name) for f in plan.facts}
        known = [*plan.described(), *plan.mentioned.values()]
        for entity in known:
            assert all((entity.name, a.name) not in stated for a in asker._open(entity))
        text = "\n".join(docs)
        for qa in asker.draw(3, {"not_stated": 1.0}):
            asked += 1
            names_known = any(e.name in qa.question for e in known)
            assert names_known or not any(e.name in text and e.name in qa.question for e in known)
    assert asked > 100


def test_two_hop_crosses_documents() -> None:
    asked = 0
    for seed in range(150):
        plan, docs, asker = _written(seed, Split())
        for qa in asker.draw(2, {"two_hop": 1.0}):
            asked += 1
            pairs = [
                (one, two)
                for one in plan.facts
                for two in plan.facts
                if one.value.target == two.entity and two.value.answer == qa.answer and one.doc != two.doc
            ]
            assert any(
                one.entity.name in qa.question
                and two.entity.name not in qa.question
                and one.value.answer in docs[one.doc]
                and qa.answer in docs[two.doc]
                for one, two in pairs
            ), qa
    assert asked > 60


def test_errors_say_what_is_known() -> None:
    with pytest.raises(ConfigError, match="two_hop"):
        story(Random(0), Split(), kinds={"riddle": 1.0})
    with pytest.raises(ConfigError, match="docs"):
        story(Random(0), Split(), docs=(3, 2))
    with pytest.raises(ConfigError, match="held_out"):
        story(Random(0), Split("test"))
