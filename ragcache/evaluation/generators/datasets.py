"""Evaluation sets: one question each, with names and values that training never shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from ragcache.errors import ConfigError
from ragcache.evaluation.generators.schema import HELD_OUT, TRAIN, Split
from ragcache.evaluation.generators.story import story

DATASETS: tuple[str, ...] = (
    "single",
    "two_hop",
    "not_stated",
    "single_templates",
    "list",
    "number",
    "recency",
    "yes_no",
    "compare",
)


@dataclass(frozen=True)
class Example:
    """One question, the documents it is asked about, and its answer."""

    question: str
    docs: tuple[str, ...]
    answer: str


def dataset(name: str, n: int, seed: int = 0) -> Iterator[Example]:
    """The first n examples of a set in DATASETS; the same for the same name and seed.

    Names and values are held out of training; "single_templates" asks and states in held-out ways as well.
    Raises ConfigError for an unknown name.
    """
    if name not in DATASETS:
        raise ConfigError(f"Unknown dataset {name!r}; known are {', '.join(DATASETS)}.")
    return _examples(name, n, seed)


def _examples(name: str, n: int, seed: int) -> Iterator[Example]:
    rng = Random(f"{name}/{seed}")
    split = Split(HELD_OUT, HELD_OUT if name == "single_templates" else TRAIN)
    kind = name.removesuffix("_templates")
    made = 0
    while made < n:
        told = story(rng, split, questions=1, kinds={kind: 1.0})
        if told.questions:
            made += 1
            yield Example(told.questions[0].question, told.docs, told.questions[0].answer)
