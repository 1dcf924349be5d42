"""Stories: documents about made-up entities, with questions."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from ragcache.errors import ConfigError
from ragcache.evaluation.generators.plan import draw
from ragcache.evaluation.generators.qa import DEFAULT_KINDS, Asker
from ragcache.evaluation.generators.render import Writer
from ragcache.evaluation.generators.schema import HELD_OUT, TRAIN, Split, Story, Told

KINDS = (*DEFAULT_KINDS, "cloze")


def story(
    rng: Random,
    split: Split,
    *,
    docs: tuple[int, int] = (2, 6),
    facts: tuple[int, int] = (2, 5),
    questions: int = 6,
    kinds: Mapping[str, float] | None = None,
) -> Story:
    """Documents (docs[0] to docs[1], each of facts[0] to facts[1] facts) and up to `questions` questions.

    `kinds` weighs the kinds of question (the default leaves "cloze" out); a kind that the story cannot
    serve is left out. The same state of `rng` gives the same story. Raises ConfigError for an empty range,
    an unknown kind or an unknown side of the split.
    """
    _check(split, docs, facts, kinds or {})
    weights = DEFAULT_KINDS if kinds is None else kinds
    change = 0.4 if weights.get("recency", 0) > 0.5 * sum(weights.values()) else 0.15
    plan = draw(rng, split, docs, facts, change)
    writer = Writer(plan)
    texts = writer.documents()
    told = tuple(Told(fact.doc, fact.entity.name, fact.value.answer) for fact in plan.facts)
    return Story(texts, Asker(plan, texts, writer.clozes).draw(questions, weights), told)


def check_ranges(split: Split, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Raises ConfigError for an empty range, by its name, or an unknown side of the split."""
    for name, (low, high) in ranges.items():
        if not 1 <= low <= high:
            raise ConfigError(f"{name}={low, high} is not a range of 1 or more; give (least, most).")
    if not {split.names, split.templates} <= {TRAIN, HELD_OUT}:
        raise ConfigError(f"{split} has an unknown side; use {TRAIN!r} or {HELD_OUT!r} for each.")


def _check(split: Split, docs: tuple[int, int], facts: tuple[int, int], kinds: Mapping[str, float]) -> None:
    check_ranges(split, {"docs": docs, "facts": facts})
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise ConfigError(f"Unknown question kinds {unknown}; known are {', '.join(KINDS)}.")
