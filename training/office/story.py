"""Stories of pages: the face of this package."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from ragcache.evaluation.generators import Split, Story, Told
from ragcache.evaluation.generators.story import check_ranges
from training.office.page import PageWriter
from training.office.plan import draw
from training.office.questions import Asker


def office_story(
    rng: Random,
    split: Split,
    *,
    docs: tuple[int, int],
    facts: tuple[int, int],
    questions: int,
    kinds: Mapping[str, float],
) -> Story:
    """docs[0] to docs[1] pages of facts[0] to facts[1] facts, and up to `questions` questions.

    `kinds` weighs "single", "number", "list", "two_hop" and "not_stated"; others are left out. The same state
    of `rng` gives the same story. All templates are for training, whatever `split.templates` says. Raises
    ConfigError for an empty range or an unknown side of the split.
    """
    check_ranges(split, {"docs": docs, "facts": facts, "questions": (questions, questions)})
    plan = draw(rng, split, docs, facts)
    pages = PageWriter(plan).pages()
    told = tuple(
        Told(fact.page, plan.subjects[fact.page].entity.name, fact.value.answer) for fact in plan.facts
    )
    return Story(pages, Asker(plan, pages).draw(questions, kinds), told)
