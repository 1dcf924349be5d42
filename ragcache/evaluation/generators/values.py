"""Values of attributes by value kind: numbers with units, dates, addresses, words of pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from ragcache.evaluation.generators import names, pools
from ragcache.evaluation.generators.schema import Split, Value

Maker = Callable[[Random, Split], Value]


def _plain(text: str) -> Value:
    return Value(text, text.removeprefix("the "))


def _measure(number: float, unit: str, text: str = "") -> Value:
    shown = text or f"{number:,} {unit}"
    return Value(shown, shown, float(number), unit)


def _amount(rng: Random, low: int, high: int) -> Value:
    number = rng.randrange(low, high)
    number = number if rng.random() < 0.4 else max(5, number // 5 * 5)
    unit = rng.choice(("euros", "euros", "dollars", "pounds", "$"))
    return _measure(number, "dollars", f"${number:,}") if unit == "$" else _measure(number, unit)


def amount(rng: Random, split: Split) -> Value:
    return _amount(rng, 6, rng.choice((100, 1000, 5000)))


def budget(rng: Random, split: Split) -> Value:
    unit = rng.choice(("euros", "euros", "dollars"))
    return _measure(rng.randrange(10, 900) * 1000, unit)


def weight(rng: Random, split: Split) -> Value:
    if rng.random() < 0.3:
        return _measure(rng.randrange(50, 990), "grams")
    return _measure(rng.randrange(2, 95) if rng.random() < 0.5 else rng.randrange(11, 99) / 10, "kg")


def percent(rng: Random, split: Split) -> Value:
    number = rng.randrange(2, 99)
    sign = rng.random() < 0.5
    return _measure(number, "percent", f"{number}%" if sign else "")


def count(rng: Random, split: Split) -> Value:
    number = rng.randrange(3, rng.choice((20, 90)))
    return _measure(number, "", str(number))


def capacity(rng: Random, split: Split) -> Value:
    return _measure(rng.randrange(6, rng.choice((60, 400))), rng.choice(("people", "people", "seats")))


def days(rng: Random, split: Split) -> Value:
    return _measure(
        rng.randrange(2, rng.choice((15, 91))), rng.choice(("days", "days", "working days", "weeks"))
    )


def duration(rng: Random, split: Split) -> Value:
    unit = rng.choice(("hours", "minutes", "days"))
    if rng.random() < 0.3:
        at = rng.randrange(len(pools.NUMBER_WORDS))
        return _measure(at + 2, unit, f"{pools.NUMBER_WORDS[at]} {unit}")
    return _measure(rng.randrange(2, 60), unit)


def years(rng: Random, split: Split) -> Value:
    unit = rng.choice(("years", "years", "months"))
    return _measure(rng.randrange(2, 13 if unit == "years" else 60), unit)


def battery(rng: Random, split: Split) -> Value:
    return _measure(rng.randrange(3, 72), "hours")


def year(rng: Random, split: Split) -> Value:
    number = rng.randrange(1985, 2026) if rng.random() < 0.8 else rng.randrange(1890, 1985)
    return _measure(number, "", str(number))


def date(rng: Random, split: Split) -> Value:
    number, month = rng.randrange(2008, 2027), rng.randrange(12)
    day = rng.randrange(1, 29)
    key = float(number * 372 + month * 31 + day)
    if rng.random() < 0.25:
        text = f"{pools.MONTHS[month]} {number}"
        return Value(text, text, key, "month")
    return Value(text := f"{day} {pools.MONTHS[month]} {number}", text, key, "day", "on")


def day(rng: Random, split: Split) -> Value:
    text = f"{rng.randrange(1, 29)} {rng.choice(pools.MONTHS)}"
    return Value(text, text, preposition="on")


def time(rng: Random, split: Split) -> Value:
    hour, minute = rng.randrange(5, 23), rng.choice((0, 0, 15, 30, 45, rng.randrange(60)))
    shape = rng.random()
    text = f"{hour}:{minute:02d}"
    if shape < 0.25:
        text = f"{(hour - 1) % 12 + 1}{'' if minute == 0 else f':{minute:02d}'} {'am' if hour < 12 else 'pm'}"
    return Value(text, text, hour * 60.0 + minute, "time")


def extension(rng: Random, split: Split) -> Value:
    text = str(rng.randrange(100, 10 ** rng.choice((3, 4, 4, 5))))
    return Value(text, text)


def phone(rng: Random, split: Split) -> Value:
    text = f"{rng.randrange(10, 1000):03d} {rng.randrange(100, 1000)} {rng.randrange(10, 10000):04d}"
    return Value(text, text)


def email(rng: Random, split: Split) -> Value:
    user = rng.choice((names.word(rng, split), names.noun(rng, split))).lower()
    user += rng.choice(("", "", f"{rng.randrange(1, 99)}", f".{names.surname(rng, split).lower()}"))
    host = names.word(rng, split).lower() + rng.choice((".com", ".org", ".net", ".eu", ".example"))
    return _plain(f"{user}@{host}")


def room(rng: Random, split: Split) -> Value:
    letter = rng.choice(("", "", *"ABCDEFG"))
    return _plain(f"{letter}{rng.randrange(1, 600)}")


def floor(rng: Random, split: Split) -> Value:
    at = rng.randrange(len(pools.ORDINALS))
    return Value(f"{pools.ORDINALS[at]} floor", f"{pools.ORDINALS[at]} floor")


def weekday(rng: Random, split: Split) -> Value:
    text = rng.choice(pools.WEEKDAYS)
    return Value(text, text, preposition="on")


def station(rng: Random, split: Split) -> Value:
    return _plain(f"{names.noun(rng, split)} {rng.choice(('Station', 'Gate', 'Square', 'Central', 'Park'))}")


def university(rng: Random, split: Split) -> Value:
    town = names.city(rng, split)
    return _plain(rng.choice((f"the University of {town}", f"{town} University", f"{town} College")))


def joined(items: Sequence[str]) -> str:
    """ "A, B and C"."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else items[0]


def _list(make: Callable[[Random, Split], str]) -> Maker:
    def several(rng: Random, split: Split) -> Value:
        items: list[str] = []
        size = rng.choice((2, 2, 3, 3, 4))
        for _ in range(12):
            item = make(rng, split)
            if item not in items:
                items.append(item)
            if len(items) == size:
                break
        return Value(joined(items), joined(items), items=tuple(items))

    return several


def _from(words: tuple[str, ...]) -> Maker:
    return lambda rng, split: _plain(names.pick(rng, words, split))


def _named(make: Callable[[Random, Split], str]) -> Maker:
    return lambda rng, split: _plain(make(rng, split))


MAKERS: dict[str, Maker] = {
    "amount": amount, "budget": budget, "weight": weight, "percent": percent, "count": count,
    "capacity": capacity, "days": days, "duration": duration, "years": years, "battery": battery,
    "year": year, "date": date, "day": day,
    "time": time, "extension": extension, "phone": phone, "email": email, "room": room, "floor": floor,
    "weekday": weekday, "station": station, "university": university,
    "city": _named(names.city), "code": _named(names.code), "street": _named(names.street),
    "company": _named(names.company), "word": _named(names.noun),
    "job": _from(pools.JOBS), "hobby": _from(pools.HOBBIES), "food": _from(pools.FOODS),
    "animal": _from(pools.ANIMALS), "colour": lambda rng, split: _plain(rng.choice(pools.COLOURS)),
    "material": _from(pools.MATERIALS), "cause": _from(pools.CAUSES), "system": _from(pools.SYSTEMS),
    "tool": _from(pools.TOOLS), "group": _from(pools.GROUPS),
    "languages": _list(lambda rng, split: names.pick(rng, pools.LANGUAGES, split)),
    "skills": _list(lambda rng, split: names.pick(rng, pools.SKILLS, split)),
    "colours": _list(lambda rng, split: rng.choice(pools.COLOURS)),
    "cities": _list(names.city),
    "people": _list(lambda rng, split: names.person(rng, split).name),
    "weekdays": _list(lambda rng, split: rng.choice(pools.WEEKDAYS)),
    "groups": _list(lambda rng, split: names.pick(rng, pools.GROUPS, split)),
}  # fmt: skip
NUMERIC = frozenset(
    {
        "amount",
        "budget",
        "weight",
        "percent",
        "count",
        "capacity",
        "days",
        "duration",
        "years",
        "battery",
        "year",
        "extension",
        "phone",
    }
)
