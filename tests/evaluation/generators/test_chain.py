"""Chains read back from the text alone lead from the question's head to the answer."""

from __future__ import annotations

import re
from functools import cache
from random import Random

import pytest

from ragcache.errors import ConfigError
from ragcache.evaluation.generators import Split, Story, dataset, linked_story
from ragcache.evaluation.generators.chain_themes import THEMES, Theme
from ragcache.evaluation.generators.frames import PROSE
from ragcache.evaluation.generators.schema import Phrases

SPLITS = [Split(), Split("held_out"), Split("held_out", "held_out")]


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w)\\\}", r"(?P<\1>.+?)", re.escape(template)), re.IGNORECASE)


def _match(found: Phrases, text: str) -> tuple[int, dict[str, str]]:
    """What the placeholders of the template that fits best stand for, and how much of it is plain text."""
    fitting = [(-1, {"a": ""})]
    for template in (*found.train, *found.held_out):
        if fits := _pattern(template).fullmatch(text):
            fitting.append((len(template), fits.groupdict()))
    return max(fitting, key=lambda fit: fit[0])


def _bare(doc: str) -> str:
    for line in PROSE:
        doc = doc.replace(line, "")
    return doc.strip().removesuffix(".")


def _reads(theme: Theme, docs: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]] | None:
    """References and ends that the documents state, if every one of them fits the theme."""
    refers: dict[str, str] = {}
    ends: dict[str, str] = {}
    for doc in map(_bare, docs):
        # "calls to X go to extension 5" fits "calls to {a} go to {b}" as well, but an end fits it better.
        (refer, referred), (end, ended) = _match(theme.refer, doc), _match(theme.end, doc)
        if max(refer, end) < 0:
            return None
        if end > refer:
            ends[ended["a"]] = ended["v"]
        else:
            refers[referred["a"]] = referred["b"]
    return refers, ends


def _solve(docs: tuple[str, ...], question: str) -> set[tuple[str, int]]:
    """Answers and numbers of references under every theme that the text can be read as."""
    solved = set()
    for theme in THEMES:
        name, read, hops = _match(theme.ask, question)[1]["a"], _reads(theme, docs), 0
        if read is None or name not in (*read[0], *read[1]):
            continue
        while name in read[0]:
            name, hops = read[0][name], hops + 1
        solved.add((read[1][name], hops))
    return solved


@pytest.mark.parametrize("name", ["chain", *(f"chain_{hops}" for hops in range(2, 7))])
def test_the_answer_is_at_the_end_of_the_chain(name: str) -> None:
    lengths = set()
    for example in dataset(name, 40, seed=4):
        ((answer, hops),) = _solve(example.docs, example.question)
        assert answer == example.answer
        assert len(example.docs) == 2 * (hops + 1)
        lengths.add(hops)
    assert lengths == ({2, 3, 4, 5, 6} if name == "chain" else {int(name[-1])})


@pytest.mark.parametrize("split", SPLITS)
def test_every_question_of_a_story_is_solved(split: Split) -> None:
    rng, asked = Random(2), 0
    for _ in range(25):
        made = linked_story(rng, split, "chain", docs=(5, 12), questions=8, hops=(1, 4))
        for qa in made.questions:
            ((answer, hops),) = _solve(made.docs, qa.question)
            assert answer == qa.answer
            assert 1 <= hops <= 4
            asked += 1
    assert asked > 80


def test_other_chains_offer_other_answers() -> None:
    rng = Random(3)
    for _ in range(30):
        made = linked_story(rng, Split(), "chain", docs=(4, 8), questions=1)
        told = {told.subject: told.value for told in made.told}
        ends = {value for value in told.values() if value not in told}
        assert made.questions[0].answer in ends
        assert len(ends) >= 2


def test_told_is_in_its_document() -> None:
    made: Story = linked_story(Random(5), Split(), "chain")
    assert len(made.told) == len(made.docs)
    assert all(t.subject in made.docs[t.doc] and t.value in made.docs[t.doc] for t in made.told)


def test_too_few_documents_for_the_references() -> None:
    with pytest.raises(ConfigError, match="6 or more"):
        linked_story(Random(0), Split(), "chain", docs=(5, 8), hops=(4, 4))
