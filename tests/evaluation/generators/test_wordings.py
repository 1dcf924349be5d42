"""The data files of wordings: for attributes that there are, apart from what is held out, said once."""

from __future__ import annotations

import pytest

from ragcache.evaluation.generators import frames
from ragcache.evaluation.generators.kinds import ATTRIBUTES
from ragcache.evaluation.generators.schema import Phrases, lines
from ragcache.evaluation.generators.wordings import more, table


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_every_table_is_an_attribute_and_every_block_is_used(kind: str) -> None:
    attributes = {attribute.name: attribute for attribute in ATTRIBUTES[kind]}
    assert table(kind).keys() == attributes.keys()
    for name, blocks in table(kind).items():
        assert blocks.keys() <= {"say", "ask", "link"}
        for block, text in blocks.items():
            found: Phrases = getattr(attributes[name], block)
            assert set(lines(text)) <= set(found.train)
            assert len(set(found.train)) == len(found.train)
            assert set(found.train).isdisjoint(found.held_out)


@pytest.mark.parametrize("pool", table("frames"))
def test_frames_are_used(pool: str) -> None:
    found: Phrases = getattr(frames, pool.upper())
    assert set(lines(table("frames")[pool]["lines"])) <= set(found.train)
    assert len(set(found.train)) == len(found.train)
    assert set(found.train).isdisjoint(found.held_out)


def test_what_is_held_out_stays() -> None:
    assert more(Phrases(("a",), ("b",)), "c\n\n d ") == Phrases(("a", "c", "d"), ("b",))
