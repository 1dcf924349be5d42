"""Many very short documents with one fact each, one of which is asked for."""

from __future__ import annotations

from random import Random

from ragcache.errors import ConfigError
from ragcache.evaluation.generators import values
from ragcache.evaluation.generators.casting import Cast, plain
from ragcache.evaluation.generators.kinds import ATTRIBUTES
from ragcache.evaluation.generators.qa import ask
from ragcache.evaluation.generators.render import named, sentence
from ragcache.evaluation.generators.schema import QA, Attribute, Fact, Split, Story, Told

LONG_SIZES = (2, 4, 8, 16, 32, 64)
CHARACTERS = 4480
LEAST, MOST = (
    60,
    70,
)  # characters of room for one document; more is not used, so that sizes differ in number only
_KINDS = ("person", "product", "place", "incident", "team")  # kinds with names enough for the largest size


def long_story(rng: Random, split: Split, size: int, characters: int = CHARACTERS) -> Story:
    """`size` documents of one sentence, together at most `characters` long, with one question.

    All are about different entities of one kind and tell one of three attributes. The default leaves room
    for 64 documents in a window of 2048 tokens. Raises ConfigError if `size` sentences do not fit.
    """
    if size < 1 or characters < size * LEAST:
        raise ConfigError(f"{size} documents in {characters} characters: give 1 or more, {LEAST} for each.")
    cast, kind = Cast(rng, split), rng.choice(_KINDS)
    attributes = rng.sample([attribute for attribute in ATTRIBUTES[kind] if plain(attribute)], 3)
    most = min(MOST, characters // size)
    asked, text = _document(cast, kind, attributes, most, "")
    told = [(asked, text)]
    for _ in range(size - 1):
        told.append(_document(cast, kind, attributes, most, asked.value.answer))
    rng.shuffle(told)
    question = ask(rng, asked.attribute, named(asked.entity.ref), split.templates)
    return Story(
        tuple(text for _, text in told),
        (QA(question, asked.value.answer, "single", asked.entity.name),),
        tuple(Told(doc, fact.entity.name, fact.value.answer) for doc, (fact, _) in enumerate(told)),
    )


def _document(cast: Cast, kind: str, attributes: list[Attribute], most: int, answer: str) -> tuple[Fact, str]:
    """A fact and a sentence for it of at most `most` characters, without `answer` unless that is ""."""
    while True:
        entity, attribute = cast.entity(kind), cast.rng.choice(attributes)
        value = values.MAKERS[attribute.value](cast.rng, cast.split)
        fact = Fact(entity, attribute, value, 0)
        text = sentence(cast.rng, fact, named(entity.ref), cast.split.templates)
        if len(text) <= most and (not answer or answer not in text):
            return fact, text
