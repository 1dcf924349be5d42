"""Values from short specifications: `"<n 4 60> desks | <word> Street <n 2 90>"`.

`|` separates alternatives, each as likely as the others; `<name arguments>` stands for what a maker draws:
one of the numbers, times and names below, or of the pools and makers of `ragcache.evaluation.generators`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

from ragcache.errors import ConfigError
from ragcache.evaluation.generators import names, pools
from ragcache.evaluation.generators.schema import Entity, Split
from ragcache.evaluation.generators.values import MAKERS, joined
from training.office.pools import pool, pool_names

Piece = Callable[[Random, Split], str]
_SLOT = re.compile(r"<(\w+)((?: [^<> ]+)*)>")
_CURRENCIES = ("euros", "euros", "euros", "dollars", "pounds")
_WATERS = (
    "Bay", "Bridge", "Cross", "Down", "End", "Ford", "Green", "Heath", "Hill", "Mill", "Moor", "Point",
    "Quay", "Vale", "Wells",
)  # fmt: skip


def expand(rng: Random, split: Split, specification: str) -> str:
    """A value drawn from one alternative of a specification. Raises ConfigError for an unknown maker."""
    return "".join(piece(rng, split) for piece in rng.choice(_parsed(specification)))


@cache
def _parsed(specification: str) -> tuple[tuple[Piece, ...], ...]:
    return tuple(tuple(_pieces(part.strip())) for part in specification.split("|"))


def _pieces(text: str) -> list[Piece]:
    pieces, end = [], 0
    for match in _SLOT.finditer(text):
        pieces += [_constant(text[end : match.start()]), _maker(match[1], match[2].split())]
        end = match.end()
    return [*pieces, _constant(text[end:])]


def _constant(text: str) -> Piece:
    return lambda rng, split: text


def _maker(name: str, arguments: list[str]) -> Piece:
    if name in _OWN:
        make = _OWN[name]
        return lambda rng, split: make(rng, split, *arguments)
    if name == "list":
        return _several(_maker(arguments[0], arguments[1:]))
    if name in pool_names():
        return lambda rng, split: names.pick(rng, pool(name), split)
    if name in MAKERS:
        known = MAKERS[name]
        return lambda rng, split: known(rng, split).answer
    raise ConfigError(f"<{name}> names no maker of values and no pool in training/office/data/pools.toml.")


def _several(make: Piece) -> Piece:
    """Two or three different ones."""

    def several(rng: Random, split: Split) -> str:
        items: list[str] = []
        wanted = rng.choice((2, 2, 3))
        while len(items) < wanted:
            item = make(rng, split)
            if item not in items:
                items.append(item)
        return joined(items)

    return several


def number(rng: Random, split: Split, low: str, high: str, step: str = "1") -> str:
    """Digits, thousands separated: "4,500"."""
    return f"{rng.randrange(int(low), int(high) + 1, int(step)):,}"


def plain_number(rng: Random, split: Split, low: str, high: str) -> str:
    """A year, or digits that are a name."""
    return str(rng.randint(int(low), int(high)))


def spelled(rng: Random, split: Split, low: str, high: str) -> str:
    """A number in letters up to twelve: "three", "14"."""
    drawn = rng.randint(int(low), int(high))
    return pools.NUMBER_WORDS[drawn - 2] if 2 <= drawn <= 12 else str(drawn)


def either(rng: Random, split: Split, low: str, high: str) -> str:
    """A number in letters or digits."""
    return (spelled if rng.random() < 0.6 else number)(rng, split, low, high)


def decimal(rng: Random, split: Split, low: str, high: str) -> str:
    """One digit after the point."""
    return f"{rng.uniform(float(low), float(high)):.1f}"


def money(rng: Random, split: Split, low: str, high: str, step: str = "1") -> str:
    """An amount with its currency."""
    amount = number(rng, split, low, high, step)
    return f"${amount}" if rng.random() < 0.1 else f"{amount} {rng.choice(_CURRENCIES)}"


def clock(rng: Random, split: Split, low: str, high: str) -> str:
    """A time of day: "07:30"."""
    return f"{rng.randint(int(low), int(high)):02d}:{rng.choice((0, 0, 15, 30, 30, 45)):02d}"


def span(rng: Random, split: Split, *bounds: str) -> str:
    """From one time to another: "07:30 to 18:15", "8 am to 6 pm"; bounds of the hours of both."""
    opens, closes = (rng.randint(int(low), int(high)) for low, high in (bounds[:2], bounds[2:]))
    shape, minutes = rng.random(), [rng.choice((0, 0, 15, 30, 45)) for _ in bounds[:2]]
    if shape < 0.15:
        return " to ".join(f"{(h - 1) % 12 + 1} {'am' if h < 12 else 'pm'}" for h in (opens, closes))
    form = "{:d}:{:02d}" if shape < 0.3 else "{:02d}:{:02d}"
    return " to ".join(form.format(*at) for at in zip((opens, closes), minutes, strict=True))


def town(rng: Random, split: Split) -> str:
    """A town of one word or of two: "Zwickham", "Trandle Bay"."""
    shape = rng.random()
    if shape < 0.4:
        return f"{names.word(rng, split)} {rng.choice(_WATERS)}"
    return names.word(rng, split) if shape < 0.6 else names.city(rng, split)


def person(rng: Random, split: Split) -> Entity:
    """Someone; half of the first names are made up, as those of the pool are one token each."""
    known = names.person(rng, split)
    if rng.random() < 0.5:
        return known
    short = names.word(rng, split)
    name = f"{short} {known.name.split(' ', 1)[1]}"
    return replace(known, name=name, ref=name, short=short)


def address(rng: Random, split: Split) -> str:
    """An e-mail address like people's at work: "trovan.sellbeck@parvex.example"."""
    first, last = person(rng, split).name.split(" ", 1)
    user = rng.choice((f"{first}.{last}", f"{first[0]}.{last}", last)).lower()
    host = names.word(rng, split).lower() + rng.choice((".com", ".org", ".net", ".example", ".example"))
    return f"{user}@{host}"


def day(rng: Random, split: Split) -> str:
    """A day of the year."""
    return f"{rng.randrange(1, 29)} {rng.choice(pools.MONTHS)}"


_OWN: dict[str, Callable[..., str]] = {
    "n": number, "id": plain_number, "w": spelled, "nw": either, "d": decimal, "money": money,
    "clock": clock, "span": span, "town": town, "address": address,
    "name": lambda rng, split: person(rng, split).name,
    "first": lambda rng, split: person(rng, split).short,
    "made": names.word, "noun": names.noun,
    "code": lambda rng, split: names.code(rng, split),
    "month": lambda rng, split: rng.choice(pools.MONTHS),
    "weekday": lambda rng, split: rng.choice(pools.WEEKDAYS),
    "twodays": lambda rng, split: " and ".join(
        f"{pools.WEEKDAYS[at]}s" for at in sorted(rng.sample(range(7), 2))
    ),
    "day": day,
    "date": lambda rng, split: f"{day(rng, split)} {rng.randrange(2005, 2027)}",
    "ordinal": lambda rng, split: rng.choice(pools.ORDINALS),
}  # fmt: skip
