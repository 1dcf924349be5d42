"""The sorts of subjects, read from `data/`: what they are called, and the kinds of facts told of them.

A file of `data/` is a family ("policy"). Each of its tables is a sort of the family ("travel") with `names`
and `short` (specifications of values), `intro` and `filler` (sentences), and a table for each kind of fact.
What the table `[all]` holds belongs to every sort of the family.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from ragcache.evaluation.generators.schema import Attribute, Entity, Phrases, Split, lines
from training.office.pools import table
from training.office.values import expand, person

FAMILIES = (
    "person", "place", "room", "product", "machine", "vehicle", "policy", "event", "incident", "team",
    "customer", "club", "course",
)  # fmt: skip
SLOTS = ("{s}", "{o}", "{p}")  # of the subject: who, whom, whose
PROPER = re.compile(r"@person|<name>|<town>|\{first\}|<address>")
ENTITY = "@"  # opens the value of a kind that names a subject of a family: "@person"


@dataclass(frozen=True, eq=False)
class Kind(Attribute):
    """A kind of fact. Where one kind of a `topic` is told, no other of it is asked for as not stated. `lead`
    are the statements that name the subject, so that they can open a page. `proper` values are made-up names
    of people and towns, and addresses, to be copied letter by letter."""

    topic: str = ""
    proper: bool = False
    lead: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The family of the subject that the value names, or ""."""
        return self.value.removeprefix(ENTITY) if self.value.startswith(ENTITY) else ""


@dataclass(frozen=True, eq=False)
class Sort:
    """A sort of subjects; `the` says whether its names take an article."""

    family: str
    names: str
    short: str
    the: bool
    intro: tuple[str, ...]
    filler: tuple[str, ...]
    kinds: tuple[Kind, ...]

    def entity(self, rng: Random, split: Split) -> Entity:
        """A new subject."""
        if self.family == "person":
            return person(rng, split)
        name = expand(rng, split, self.names)
        ref = f"the {name}" if self.the else name
        return Entity(self.family, name, ref, self.short or self._short(name))

    def _short(self, name: str) -> str:
        """What a page calls its subject later: "the lamp", or "the product" where the name does not say."""
        last, before = name.split()[-1], name.split()[-2:-1]
        if last.isalpha():
            return f"the {last.lower()}"
        return f"the {before[0] if before and before[0].islower() else self.family}"


@cache
def sorts(family: str) -> tuple[Sort, ...]:
    """The sorts of a family."""
    tables = dict(table(family))
    shared = tables.pop("all")
    kinds = _kinds(shared)  # the same for all sorts: pages of different sorts share them
    return tuple(_sort(family, {**shared, **own}, kinds + _kinds(own)) for own in tables.values())


def _sort(family: str, settings: Mapping[str, Any], kinds: tuple[Kind, ...]) -> Sort:
    return Sort(
        family,
        settings.get("names", ""),
        settings.get("short", ""),
        settings.get("the", False),
        lines(settings["intro"]),
        lines(settings["filler"]),
        kinds,
    )


def _kinds(entries: Mapping[str, Any]) -> tuple[Kind, ...]:
    return tuple(_kind(name, entry) for name, entry in entries.items() if isinstance(entry, dict))


def _kind(name: str, entry: Mapping[str, str]) -> Kind:
    nouns = tuple(noun.strip() for noun in entry.get("noun", "").split(";") if noun.strip())
    say, ask = lines(entry["say"]), lines(entry["ask"])
    for noun in nouns:  # what can be said with the noun alone, twice for its weight
        head = re.split(" (?:of|for|to) ", noun)[0]
        verb = "are" if head.endswith("s") and not head.endswith("ss") else "is"
        say += (f"the {noun} of {{o}} {verb} {{v}}", f"{{p}} {noun} {verb} {{v}}") * 2
        what = f"{entry.get('wh', 'What')} {verb}"
        ask += (f"{what} the {noun} of {{o}}?", f"{what} {{p}} {noun}?", f"Tell me the {noun} of {{o}}.")
        if "wh" not in entry:
            ask += (f"Which {noun} does {{s}} have?",)
    return Kind(
        name,
        nouns or ("",),
        entry["value"],
        Phrases(say),
        Phrases(ask),
        link=Phrases(lines(entry.get("link", ""))),
        plural="<list" in entry["value"],
        topic=entry.get("topic", name),
        proper=bool(PROPER.search(entry["value"])),
        lead=tuple(text for text in say if any(slot in text for slot in SLOTS)),
    )
