"""Held-out templates use words that train templates have taught, in sentences that training never shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

from ragcache.evaluation.generators import frames
from ragcache.evaluation.generators.kinds import ATTRIBUTES
from ragcache.evaluation.generators.render import fill, named
from ragcache.evaluation.generators.schema import Attribute, Phrases, Value

KNOWN = [
    pytest.param(attribute, id=f"{kind}.{attribute.name}")
    for kind, attributes in ATTRIBUTES.items()
    for attribute in attributes
]
# Words of grammar mean the same beside every attribute.
GRAMMAR = {"after", "doe", "hav", "mor", "tak", "wher", "whos", "with"}


def _frames() -> Iterator[Phrases]:
    for found in vars(frames).values():
        yield from (found.values() if isinstance(found, dict) else (found,))


FRAMES = [found for found in _frames() if isinstance(found, Phrases)]
FRAME_LINES = [line for found in FRAMES for line in found.train] + list(frames.SOURCES)


def _stem(word: str) -> str:
    """ "supervised", "supervises", "supervising" as one."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            return word.removesuffix(ending)
    return word


def _stems(lines: Iterable[str], least: int = 1) -> set[str]:
    bare = " ".join(re.sub(r"\{\w+\}", " ", line) for line in lines).lower()
    return {_stem(word) for word in re.findall(r"[a-z][a-z-]*", bare) if len(word) >= least}


@pytest.mark.parametrize("attribute", KNOWN)
def test_held_out_words_are_taught_for_the_attribute(attribute: Attribute) -> None:
    own = (attribute.say, attribute.ask, attribute.link)
    taught = [*attribute.nouns, *attribute.more, *attribute.less, *(t for found in own for t in found.train)]
    unseen = _stems((t for found in own for t in found.held_out), 4) - _stems([*taught, *FRAME_LINES])
    assert unseen <= GRAMMAR


def test_held_out_words_of_frames_are_taught() -> None:
    unseen = _stems((line for found in FRAMES for line in found.held_out), 4) - _stems(FRAME_LINES)
    assert unseen <= GRAMMAR


@pytest.mark.parametrize("attribute", KNOWN)
def test_train_side_is_wide_and_apart(attribute: Attribute) -> None:
    assert len(attribute.say.train) >= 10
    assert len(attribute.ask.train) >= 8
    for found in (attribute.say, attribute.ask, attribute.link):
        assert len(set(found.train)) == len(found.train)
        assert set(found.train).isdisjoint(found.held_out)


@pytest.mark.parametrize("attribute", KNOWN)
def test_templates_fill(attribute: Attribute) -> None:
    value = Value("Oslo", "Oslo")
    for template in (*attribute.say.train, *attribute.say.held_out):
        filled = fill(template, named("Ada"), attribute, attribute.nouns[0], value)
        assert filled.count("Oslo") == 1
        assert "Ada" in filled
        # An aside may follow a subject at the start, so it must be the only mention.
        assert not template.startswith("{s} ") or filled.count("Ada") == 1
