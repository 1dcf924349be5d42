"""Open pools of names (people, places, products ...), split into train and held-out by a stable hash."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from ragcache.evaluation.generators import pools
from ragcache.evaluation.generators.schema import HELD_OUT, TRAIN, Entity, Split

_ONE_IN = 6
_GOODS = ("the product", "the model", "the device")
_SHE, _HE = ("she", "her", "her"), ("he", "him", "his")


@cache
def _sides(words: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    split: dict[str, list[str]] = {TRAIN: [], HELD_OUT: []}
    for word in words:
        split[side(word)].append(word)
    return {name: tuple(found) for name, found in split.items()}


def side(name: str) -> str:
    """The side of the split that a name belongs to; the same on every machine and in every run."""
    return HELD_OUT if zlib.crc32(name.lower().encode()) % _ONE_IN == 0 else TRAIN


def pick(rng: Random, words: Sequence[str], split: Split) -> str:
    """A word of a pool from the split's side of it."""
    return rng.choice(_sides(tuple(words))[split.names])


def made(rng: Random, make: Callable[[Random], str], split: Split) -> str:
    """A made-up name on the split's side."""
    while True:
        name = make(rng)
        if side(name) == split.names:
            return name


def _syllables(rng: Random, endings: Sequence[str]) -> str:
    word = ""
    for _ in range(rng.choice((1, 1, 2))):
        word += rng.choice(pools.ONSETS) + rng.choice(pools.VOWELS) + rng.choice(pools.CODAS)
    if word[-1] in "aeiou":
        word += rng.choice("nrlmtvdsk")
    ending = rng.choice(endings)
    return (word.rstrip("l") if ending[0] == "l" else word).capitalize() + ending


def word(rng: Random, split: Split) -> str:
    """A made-up word with a capital."""
    return made(rng, lambda r: _syllables(r, pools.NAME_ENDINGS), split)


def surname(rng: Random, split: Split) -> str:
    """A family name: two thirds made up, the rest real."""
    return word(rng, split) if rng.random() < 0.65 else pick(rng, pools.SURNAMES, split)


def city(rng: Random, split: Split) -> str:
    """A town: half made up, half real."""
    if rng.random() < 0.5:
        return pick(rng, pools.CITIES, split)
    return made(rng, lambda r: _syllables(r, pools.CITY_ENDINGS), split)


def code(rng: Random, split: Split) -> str:
    """A code such as KX-402."""

    def make(r: Random) -> str:
        letters = "".join(r.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=r.choice((1, 2, 2, 3))))
        return f"{letters}{r.choice(('-', '-', ''))}{r.randrange(10, 10 ** r.choice((2, 3, 4)))}"

    return made(rng, make, split)


def noun(rng: Random, split: Split) -> str:
    """A name for a team or project: a real noun or a made-up word."""
    return pick(rng, pools.NOUNS, split) if rng.random() < 0.5 else word(rng, split)


def company(rng: Random, split: Split) -> str:
    """A firm's name."""
    ending = rng.choice((" Ltd", " Works", " Labs", " Group", " Systems", " Foods", " and Sons", "", ""))
    return word(rng, split) + ending


def street(rng: Random, split: Split) -> str:
    """A house number and a street."""
    return f"{rng.randrange(1, 200)} {noun(rng, split)} {rng.choice(pools.STREET_KINDS)}"


def person(rng: Random, split: Split) -> Entity:
    """Someone with a first name and a surname."""
    female = rng.random() < 0.5
    first = pick(rng, pools.FEMALE if female else pools.MALE, split)
    full = f"{first} {surname(rng, split)}"
    return Entity("person", full, full, first, _SHE if female else _HE)


def product(rng: Random, split: Split) -> Entity:
    """Something sold: "Torvane", "Falcon 300", "the Torvane lamp"."""
    shape = rng.random()
    if shape < 0.4:
        name = word(rng, split)
        return Entity("product", name, rng.choice((name, f"the {name}")), rng.choice(_GOODS))
    if shape < 0.65:
        name = f"{noun(rng, split)} {rng.choice((rng.randrange(2, 10), rng.randrange(10, 100) * 10))}"
        return Entity("product", name, f"the {name}", rng.choice((f"the {name}", *_GOODS)))
    if shape < 0.75:
        name = code(rng, split)
        return Entity("product", name, f"the {name}", rng.choice((f"the {name}", *_GOODS)))
    name = f"{noun(rng, split)} {rng.choice(pools.PRODUCT_NOUNS)}"
    return Entity("product", name, f"the {name}", f"the {name.split()[-1].lower()}")


def place(rng: Random, split: Split) -> Entity:
    """A site: "the Marlow office"."""
    own = noun(rng, split) if rng.random() < 0.5 else city(rng, split)
    name = f"{own} {(kind := rng.choice(pools.PLACE_KINDS))}"
    return Entity("place", name, f"the {name}", f"the {kind}")


def policy(rng: Random, split: Split) -> Entity:
    """A rule of the house: "the travel policy", "the Corvane parking rule"."""
    topic, kind = pick(rng, pools.TOPICS, split), rng.choice(pools.POLICY_KINDS)
    name = f"{topic} {kind}" if rng.random() < 0.6 else f"{noun(rng, split)} {topic} {kind}"
    return Entity("policy", name, f"the {name}", f"the {kind}")


def incident(rng: Random, split: Split) -> Entity:
    """Something that went wrong, known by its code."""
    name = code(rng, split)
    kind = rng.choice(("incident", "incident", "case"))
    return Entity("incident", name, f"{kind} {name}", f"the {kind}")


def team(rng: Random, split: Split) -> Entity:
    """A group of people: "the Falcon team", "Project Alder", "Vellan Labs"."""
    shape = rng.random()
    if shape < 0.6:
        name = f"{noun(rng, split)} {(kind := rng.choice(('team', 'team', 'department', 'unit', 'group')))}"
        return Entity("team", name, f"the {name}", f"the {kind}")
    if shape < 0.8:
        name = f"Project {noun(rng, split)}"
        return Entity("team", name, name, "the project")
    name = company(rng, split)
    return Entity("team", name, name, "the company")


MAKERS: dict[str, Callable[[Random, Split], Entity]] = {
    "person": person,
    "product": product,
    "place": place,
    "policy": policy,
    "incident": incident,
    "team": team,
}
