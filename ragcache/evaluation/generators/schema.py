"""The shapes that stories are made of: entities, values, attributes, facts.

Templates use these placeholders: `{s}` subject (Ada Vell, she), `{o}` object (Ada Vell, her), `{p}`
possessive (Ada Vell's, her), `{v}` value, `{n}` the attribute's noun, `{is}` its verb, `{wh}` its question
word, `{a}` the article that `{v}` needs, `{in}` the preposition of a date, `{v0}`, `{y}` and `{y0}` an old
value and the years of a change. Statements start in lower case and have no full stop; questions are written
in full.
"""

from __future__ import annotations

from dataclasses import dataclass

TRAIN, HELD_OUT = "train", "held_out"


@dataclass(frozen=True)
class Split:
    """Which names and which templates to draw from: each "train" or "held_out"."""

    names: str = TRAIN
    templates: str = TRAIN


@dataclass(frozen=True)
class QA:
    """One question about a story; `kind` names what answering it takes.

    `subject` is the name that the question asks about ("" where it names none or several), `bridge` the one
    that a two-hop question leaves to be found.
    """

    question: str
    answer: str
    kind: str
    subject: str = ""
    bridge: str = ""


@dataclass(frozen=True)
class Told:
    """Document `doc` says `value` of `subject`."""

    doc: int
    subject: str
    value: str


@dataclass(frozen=True)
class Story:
    """Documents, questions about them, and what they tell."""

    docs: tuple[str, ...]
    questions: tuple[QA, ...]
    told: tuple[Told, ...] = ()


@dataclass(frozen=True)
class Entity:
    """Something documents describe: `ref` is its name inside a sentence, `name` its name alone, `short` what
    it is called once it is known (a first name, "the lamp")."""

    kind: str
    name: str
    ref: str
    short: str
    pronouns: tuple[str, str, str] = ("it", "it", "its")


@dataclass(frozen=True)
class Value:
    """What an attribute holds: `text` in sentences, `answer` the part of it that answers a question.

    `key` orders values that share a `unit`; `target` is the entity that the value names, if it names one.
    """

    text: str
    answer: str
    key: float | None = None
    unit: str = ""
    preposition: str = "in"
    items: tuple[str, ...] = ()
    target: Entity | None = None


@dataclass(frozen=True)
class Phrases:
    """Ways to say one thing, those for training apart from those held out."""

    train: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()

    def of(self, templates: str) -> tuple[str, ...]:
        """The phrases of one side of the split ("train" or "held_out")."""
        return self.train if templates == TRAIN else self.held_out


@dataclass(frozen=True)
class Attribute:
    """One property of an entity kind and the ways to state it and to ask for it.

    `link` describes the entity that the value names ("the person who designed {o}"), for two-hop questions;
    `more` and `less` ask for the larger and the smaller of two; `changes` says whether the value may be
    replaced over time.
    """

    name: str
    nouns: tuple[str, ...]
    value: str
    say: Phrases
    ask: Phrases
    wh: str = "What"
    link: Phrases = Phrases()
    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    changes: bool = False
    plural: bool = False


@dataclass(frozen=True)
class Fact:
    """One statement of a story; `old` is the value it had before `year`, if the story tells of a change;
    `old_doc` is the document that tells the old value, where it is another one than `doc`."""

    entity: Entity
    attribute: Attribute
    value: Value
    doc: int
    old: Value | None = None
    year: int = 0
    old_doc: int = -1


def lines(text: str) -> tuple[str, ...]:
    """The non-empty lines of a block of templates."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def phrases(text: str) -> Phrases:
    """Templates one a line; those that start with "~" are held out."""
    found = lines(text)
    return Phrases(
        tuple(line for line in found if not line.startswith("~")),
        tuple(line[1:].strip() for line in found if line.startswith("~")),
    )


def attribute(
    name: str,
    nouns: str,
    value: str,
    say: str,
    ask: str,
    *,
    wh: str = "What",
    link: str = "",
    more: str = "",
    less: str = "",
    changes: bool = False,
    plural: bool = False,
) -> Attribute:
    """An attribute from blocks of templates, one a line, held-out lines marked by "~"; nouns split at ";"."""
    return Attribute(
        name,
        tuple(noun.strip() for noun in nouns.split(";")),
        value,
        phrases(say),
        phrases(ask),
        wh,
        phrases(link),
        lines(more),
        lines(less),
        changes,
        plural,
    )
