"""Notes, and later documents that correct them: by the number of the note, or by what it is about.

Templates: `{note}` the note ("Note 12", "the note on Ada Vell"), `{n}` the attribute's noun, `{v}` and `{v0}`
the right and the wrong value.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from ragcache.evaluation.generators.casting import Cast, padded
from ragcache.evaluation.generators.kinds import KINDS
from ragcache.evaluation.generators.qa import ask
from ragcache.evaluation.generators.render import capital, named, sentence
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

CORRECT = phrases("""
    correction to {note}: the {n} is {v}, not {v0}
    correction to {note}: the {n} is {v} and not {v0}
    there is a mistake in {note}. The {n} is not {v0} but {v}
    in {note}, please read {v} instead of {v0}
    {note} was wrong about the {n}: it is {v}, not {v0}
    we have to correct {note}: the {n} is {v}
    the {n} in {note} is wrong. The right one is {v}
    please change {note}: the {n} is {v} instead of {v0}
    ~a mistake in {note}: please read {v}, not {v0}
    ~{note} is wrong: the right {n} is {v}
    ~please correct {note}. The {n} is {v} and not {v0}""")


@dataclass(frozen=True)
class _Note:
    """What one document tells of an entity; `wrong` is one of its attributes, corrected to `right`."""

    number: int
    entity: Entity
    values: dict[Attribute, Value]
    wrong: Attribute
    right: Value

    @property
    def name(self) -> str:
        return f"Note {self.number}"


def correction_story(rng: Random, split: Split, docs: int, questions: int) -> Story:
    """`docs` >= 3 documents: half of them, or one more, are notes, each on one entity; the others correct
    one fact each of a note before them. Questions ask for what was corrected."""
    notes = _notes(Cast(rng, split), (docs + 1) // 2)
    # A note's number comes twice if it is corrected: first the note, then the correction.
    order = [*range(len(notes)), *range(docs - len(notes))]
    rng.shuffle(order)
    texts: list[str] = []
    told: list[Told] = []
    asked: list[QA] = []
    for doc, at in enumerate(order):
        note = notes[at]
        if at not in order[:doc]:
            texts.append(_written(rng, note, split.templates))
            told += [Told(doc, note.entity.name, value.answer) for value in note.values.values()]
            continue
        by_number = rng.random() < 0.5
        texts.append(_corrected(rng, note, by_number, split.templates))
        told.append(Told(doc, note.entity.name, note.right.answer))
        question = ask(rng, note.wrong, named(note.entity.ref), split.templates)
        bridge = note.name if by_number else ""
        asked.append(QA(question, note.right.answer, "correction", note.entity.name, bridge))
    return Story(tuple(texts), tuple(rng.sample(asked, min(questions, len(asked)))), tuple(told))


def _notes(cast: Cast, count: int) -> list[_Note]:
    """Notes on entities of one kind with the same attributes, all values different."""
    rng, kind = cast.rng, cast.rng.choice(KINDS)
    numbers = rng.sample(range(10, 100), count)
    cast.taken += [str(number) for number in numbers]
    entities = [cast.entity(kind) for _ in range(count)]
    table = cast.table(kind, 2 * count, rng.randint(1, 2))
    notes = []
    for at, entity in enumerate(entities):
        wrong = rng.choice(list(table))
        own = {attribute: found[at] for attribute, found in table.items()}
        notes.append(_Note(numbers[at], entity, own, wrong, table[wrong][count + at]))
    return notes


def _written(rng: Random, note: _Note, templates: str) -> str:
    forms = named(note.entity.ref)
    facts = [Fact(note.entity, attribute, value, 0) for attribute, value in note.values.items()]
    said = [sentence(rng, fact, forms, templates) for fact in rng.sample(facts, len(facts))]
    return f"{note.name}. {padded(rng, ' '.join(said))}"


def _corrected(rng: Random, note: _Note, by_number: bool, templates: str) -> str:
    said = rng.choice(CORRECT.of(templates)).format(
        note=note.name if by_number else f"the note on {note.entity.ref}",
        n=rng.choice(note.wrong.nouns),
        v=note.right.text,
        v0=note.values[note.wrong].text,
    )
    return padded(rng, f"{capital(said)}.")
