"""Variants of one example: one document edited, so that the answer changes, or documents in another order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from ragcache.evaluation.generators import values
from ragcache.evaluation.generators.casting import plain
from ragcache.evaluation.generators.chain import follow
from ragcache.evaluation.generators.linked import linked_story
from ragcache.evaluation.generators.plan import Plan, draw
from ragcache.evaluation.generators.qa import Asker
from ragcache.evaluation.generators.render import Writer, article
from ragcache.evaluation.generators.schema import Fact, Split, Story, Value

_TRIES = 30


def counterfactual(rng: Random, split: Split) -> Sequence[Story]:
    """Two stories with the same question that differ in one document, and so in the answer.

    Either the value asked for is another one ("single" and "two_hop"), or a chain of references takes
    another way and ends at a value that stands, unchanged, in both.
    """
    kind = rng.choice(("single", "two_hop", "chain"))
    while True:
        if kind == "chain":
            return _rerouted(rng, linked_story(rng, split, "chain", docs=(4, 6), questions=1, hops=(2, 3)))
        plan, made = _unchanging(rng, split, kind)
        if made.questions and (other := _revalued(plan, made)):
            return made, other


def reordered(rng: Random, split: Split) -> Sequence[Story]:
    """Two or three stories that differ in the order of their documents alone: "single" and "two_hop"."""
    kind = rng.choice(("single", "two_hop"))
    while True:
        _, made = _unchanging(rng, split, kind)
        if made.questions:
            break
    orders = [tuple(range(len(made.docs)))]
    count = rng.choice((2, 3)) if len(made.docs) > 2 else 2
    while len(orders) < count:
        order = tuple(rng.sample(orders[0], len(orders[0])))
        if order not in orders:
            orders.append(order)
    return [replace(made, docs=tuple(made.docs[at] for at in order), told=()) for order in orders]


def _unchanging(rng: Random, split: Split, kind: str) -> tuple[Plan, Story]:
    """A story with at most one question, in which no value changes over time: its order says nothing."""
    plan = draw(rng, split, (2, 5), (2, 4), 0.0)
    writer = Writer(plan)
    texts = writer.documents()
    return plan, Story(texts, Asker(plan, texts, writer.clozes).draw(1, {kind: 1.0}))


def _edited(made: Story, doc: int, old: str, new: str, answer: str) -> Story | None:
    """The story with `old` replaced in one document, unless it does not stand there exactly once."""
    pattern = rf"(?<!\w){re.escape(old)}(?!\w)"
    if len(re.findall(pattern, made.docs[doc])) != 1:
        return None
    docs = list(made.docs)
    docs[doc] = re.sub(pattern, lambda _: new, docs[doc])
    return Story(tuple(docs), (replace(made.questions[0], answer=answer),))


def _rerouted(rng: Random, made: Story) -> Sequence[Story]:
    """A chain, and the same with one of its references leading into another chain."""
    path = follow(made.told, made.questions[0].subject)
    cut = rng.choice(path[:-1])
    target = rng.choice([told for told in made.told if told not in path])
    answer = follow(made.told, target.subject)[-1].value
    other = _edited(made, cut.doc, cut.value, target.subject, answer)
    return (made, other) if other else ()


def _revalued(plan: Plan, made: Story) -> Story | None:
    """The story with another value for what is asked; None if that cannot be done by a small edit."""
    qa, text = made.questions[0], "\n".join(made.docs)
    asked = [
        f for f in plan.facts if f.entity.name == (qa.bridge or qa.subject) and f.value.answer == qa.answer
    ]
    if len(asked) != 1 or not plain(asked[0].attribute) or text.count(qa.answer) != 1:
        return None
    fact = asked[0]
    for _ in range(_TRIES):
        new = values.MAKERS[fact.attribute.value](plan.rng, plan.split)
        if new.answer not in text and qa.answer not in new.answer and _fits(fact, new):
            return _edited(made, fact.doc, fact.value.text, new.text, new.answer)
    return None


def _fits(fact: Fact, new: Value) -> bool:
    """Whether the words around the old value suit the new one."""
    old = fact.value
    return article(old.text) == article(new.text) and (old.preposition, old.unit) == (
        new.preposition,
        new.unit,
    )
