"""More ways to say and to ask the same, for training: data files beside the templates of the attributes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from ragcache.evaluation.generators.schema import Attribute, Phrases, lines

Table = Mapping[str, Mapping[str, str]]


@cache
def table(name: str) -> Table:
    """A data file of `wordings/`: per attribute or pool, blocks of templates, one a line."""
    found: Table = tomllib.loads((files(__package__) / "wordings" / f"{name}.toml").read_text("utf-8"))
    return found


def more(own: Phrases, block: str) -> Phrases:
    """`own` with a block of templates added to those of training; what is held out stays as it is."""
    return replace(own, train=(*own.train, *lines(block)))


def enriched(kind: str, attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    """The attributes of a kind with the wordings of its data file."""
    found = table(kind)
    return tuple(
        replace(
            one,
            say=more(one.say, found[one.name]["say"]),
            ask=more(one.ask, found[one.name]["ask"]),
            link=more(one.link, found[one.name].get("link", "")),
        )
        for one in attributes
    )
