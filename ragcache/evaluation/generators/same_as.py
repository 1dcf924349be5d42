"""Facts told by comparison: "The Orla lamp costs the same as the Vero kettle", whose price stands elsewhere.

Templates: `{s}`, `{o}`, `{p}`, `{n}` as in schema, `{t}` the entity that is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ragcache.evaluation.generators.casting import Cast, padded
from ragcache.evaluation.generators.qa import ask
from ragcache.evaluation.generators.render import capital, named, sentence
from ragcache.evaluation.generators.schema import (
    QA,
    Attribute,
    Entity,
    Fact,
    Phrases,
    Split,
    Story,
    Told,
    Value,
    phrases,
)

SAME = phrases("""
    the {n} of {o} is the same as that of {t}
    {s} has the same {n} as {t}
    {s} and {t} have the same {n}
    as for the {n}, {s} is the same as {t}
    {p} {n} is that of {t}
    the {n} given for {t} is given for {o} as well
    what the list shows as the {n} of {t} is also the {n} of {o}
    ~{s} has the {n} of {t}
    ~the {n} of {t} is given for {o} as well
    ~the list shows the same {n} for {o} as for {t}""")


def _own(*templates: str) -> Phrases:
    return Phrases(templates)


# Attributes that may be told by comparison, by entity kind, with their own ways to say it.
OWN = {
    "person": {
        "job": _own("{s} has the same job as {t}", "{s} does the same work as {t}"),
        "manager": _own("{s} reports to the same person as {t}", "{s} and {t} have the same boss"),
        "office": _own("{s} works in the same office as {t}", "{s} works where {t} works"),
        "room": _own("{s} sits in the same room as {t}", "{s} shares a room with {t}"),
        "start": _own("{s} started in the same year as {t}", "{s} and {t} joined in the same year"),
        "city": _own("{s} lives in the same town as {t}", "{s} and {t} live in the same town"),
        "hobby": _own("{s} has the same hobby as {t}", "{s} shares the hobby of {t}"),
        "university": _own("{s} studied where {t} studied", "{s} went to the same university as {t}"),
    },
    "product": {
        "price": _own("{s} costs the same as {t}", "{s} costs as much as {t}"),
        "weight": _own("{s} weighs the same as {t}", "{s} is as heavy as {t}"),
        "colour": _own("{s} comes in the same colour as {t}", "{s} has the colour of {t}"),
        "designer": _own("{s} was designed by the same person as {t}"),
        "factory": _own("{s} is made in the same city as {t}", "{s} is made where {t} is made"),
        "material": _own("{s} is made of the same material as {t}"),
        "battery": _own("the battery of {o} lasts as long as that of {t}"),
        "warranty": _own("{s} is covered for as long as {t}", "{s} has the same warranty as {t}"),
        "supplier": _own("{s} comes from the same firm as {t}", "{s} is supplied by the same firm as {t}"),
    },
    "place": {
        "city": _own("{s} is in the same city as {t}", "{s} and {t} are in the same city"),
        "built": _own("{s} was built in the same year as {t}"),
        "capacity": _own("{s} holds as many people as {t}"),
        "manager": _own("{s} is run by the same person as {t}"),
        "opens": _own("{s} opens at the same time as {t}", "{s} opens when {t} opens"),
        "closes": _own("{s} closes at the same time as {t}", "{s} closes when {t} closes"),
    },
    "policy": {
        "approver": _own("{s} and {t} are approved by the same person"),
        "author": _own("{s} was written by the same person as {t}"),
        "limit": _own("the limit of {o} is that of {t}"),
        "notice": _own("{s} asks for the same notice as {t}"),
        "rate": _own("{s} pays back the same share as {t}"),
    },
    "incident": {
        "cost": _own("{s} cost as much as {t}", "{s} cost the same as {t}"),
        "duration": _own("{s} lasted as long as {t}"),
        "cause": _own("{s} had the same cause as {t}"),
        "location": _own("{s} happened in the same place as {t}"),
        "fixer": _own("{s} was fixed by the same person as {t}"),
    },
    "team": {
        "leader": _own("{s} is led by the same person as {t}"),
        "size": _own("{s} has as many members as {t}"),
        "city": _own("{s} is based in the same city as {t}"),
        "founded": _own("{s} was founded in the same year as {t}"),
        "budget": _own("{s} has as much money as {t}", "{s} has the same budget as {t}"),
        "meeting": _own("{s} meets on the same day as {t}"),
        "time": _own("{s} meets at the same time as {t}"),
    },
}


def same_as_story(rng: Random, split: Split, docs: int, questions: int) -> Story:
    """`docs` >= 3 documents, one an entity: of each attribute at least two tell a value, the others that
    theirs is the same as that of one of those. Questions ask for the others."""
    cast, kind = Cast(rng, split), rng.choice(list(OWN))
    entities = [cast.entity(kind) for _ in range(docs)]
    table = cast.table(kind, docs - 1, rng.randint(1, 2), lambda a: a.name in OWN[kind])
    sentences: list[list[str]] = [[] for _ in entities]
    told: list[Told] = []
    asked: list[QA] = []
    for attribute, found in table.items():
        order = rng.sample(range(docs), docs)
        stated = rng.randint(2, max(2, docs // 2))
        for doc, value in zip(order[:stated], found, strict=False):
            fact = Fact(entities[doc], attribute, value, doc)
            sentences[doc].append(sentence(rng, fact, named(fact.entity.ref), split.templates))
            told.append(Told(doc, fact.entity.name, value.answer))
        for doc in order[stated:]:
            at = rng.randrange(stated)
            one, other = entities[doc], entities[order[at]]
            sentences[doc].append(_same(rng, kind, attribute, one, other, split.templates))
            told.append(Told(doc, one.name, other.name))
            asked.append(_ask(rng, attribute, one, other, found[at], split.templates))
    texts = tuple(padded(rng, " ".join(rng.sample(own, len(own)))) for own in sentences)
    return Story(texts, tuple(rng.sample(asked, min(questions, len(asked)))), tuple(told))


def _same(rng: Random, kind: str, attribute: Attribute, one: Entity, other: Entity, templates: str) -> str:
    pool: Sequence[str] = SAME.of(templates)
    own = OWN[kind][attribute.name].of(templates)
    if own and rng.random() < 0.6:
        pool = own
    forms, noun = named(one.ref), rng.choice(attribute.nouns)
    said = rng.choice(pool).format(s=forms[0], o=forms[1], p=forms[2], n=noun, t=other.ref)
    return f"{capital(said)}."


def _ask(rng: Random, attribute: Attribute, one: Entity, other: Entity, value: Value, templates: str) -> QA:
    return QA(ask(rng, attribute, named(one.ref), templates), value.answer, "same_as", one.name, other.name)
