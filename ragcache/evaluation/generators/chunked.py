"""Texts cut into chunks: one chunk ends with a name, the next one goes on about it with pronouns alone."""

from __future__ import annotations

from random import Random

from ragcache.evaluation.generators import frames
from ragcache.evaluation.generators.casting import Cast
from ragcache.evaluation.generators.kinds import KINDS
from ragcache.evaluation.generators.qa import ask
from ragcache.evaluation.generators.render import Forms, capital, named, sentence
from ragcache.evaluation.generators.schema import (
    QA,
    Attribute,
    Entity,
    Fact,
    Split,
    Story,
    Told,
    Value,
    phrases,
)

INTRODUCE = phrases("""
    the next page is about {o}
    what follows is about {o}
    next on the list is {o}
    the last name on this page is {o}
    now we come to {o}
    the rest of this note is about {o}
    the following lines are about {o}
    this brings us to {o}
    the list ends with {o}
    let us turn to {o}
    ~the next lines are about {o}
    ~next, we come to {o}
    ~now let us turn to {o}""")
_AGAIN = ("the latter", "the same {kind}")


def chunked_story(rng: Random, split: Split, docs: int, questions: int) -> Story:
    """`docs` >= 4 documents: pairs of chunks that belong together stand side by side; with an odd number,
    one document stands alone between them. All entities are of one kind and all pairs tell the same
    attributes, with different values."""
    cast, kind, pairs = Cast(rng, split), rng.choice(KINDS), docs // 2
    entities = [cast.entity(kind) for _ in range(2 * pairs + 1)]
    table = cast.table(kind, len(entities), rng.randint(1, 3))
    texts: list[str] = []
    told: list[Told] = []

    def aside(at: int, doc: int) -> str:
        """A fact of an entity that no question is about, named in the same sentence."""
        attribute = rng.choice(list(table))
        fact = Fact(entities[at], attribute, table[attribute][at], doc)
        told.append(_told(fact))
        return sentence(rng, fact, named(fact.entity.ref), split.templates)

    order: list[int | None] = [*range(pairs)]
    if docs % 2:
        order.insert(rng.randrange(pairs + 1), None)
    for at in order:
        if at is None:
            texts.append(aside(2 * pairs, len(texts)))
            continue
        before = aside(pairs + at, len(texts)) if rng.random() < 0.6 else rng.choice(frames.PROSE)
        facts = [Fact(entities[at], a, found[at], len(texts) + 1) for a, found in table.items()]
        told += map(_told, facts)
        texts += [_first(rng, entities[at], before, split.templates), _second(rng, facts, split.templates)]
    asked = [(at, attribute) for at in range(pairs) for attribute in table]
    chosen = rng.sample(asked, min(questions, len(asked)))
    return Story(
        tuple(texts),
        tuple(_ask(rng, entities[at], a, table[a][at], split.templates) for at, a in chosen),
        tuple(told),
    )


def _told(fact: Fact) -> Told:
    return Told(fact.doc, fact.entity.name, fact.value.answer)


def _first(rng: Random, entity: Entity, before: str, templates: str) -> str:
    introduced = rng.choice(INTRODUCE.of(templates)).format(o=entity.ref)
    return f"{before} {capital(introduced)}."


def _second(rng: Random, facts: list[Fact], templates: str) -> str:
    """Sentences about an entity without its name, in any order."""
    written = []
    for fact in rng.sample(facts, len(facts)):
        forms, pronoun = _again(rng, fact.entity)
        written.append(sentence(rng, fact, forms, templates, pronoun))
    return " ".join(written)


def _again(rng: Random, entity: Entity) -> tuple[Forms, bool]:
    """ "she", or now and then "the latter" or "the same person"; and whether it is a pronoun."""
    if rng.random() < 0.65:
        return entity.pronouns, True
    return named(rng.choice(_AGAIN).format(kind=entity.kind)), False


def _ask(rng: Random, entity: Entity, attribute: Attribute, value: Value, templates: str) -> QA:
    question = ask(rng, attribute, named(entity.ref), templates)
    return QA(question, value.answer, "pronoun", entity.name)
