"""What the linked kinds share: names and values that cannot be mistaken for each other, and filler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from ragcache.evaluation.generators import frames, names, values
from ragcache.evaluation.generators.kinds import ATTRIBUTES, OVERLAPS
from ragcache.evaluation.generators.schema import Attribute, Entity, Split, Value

_TRIES = 60


def plain(attribute: Attribute) -> bool:
    """Whether the value is one thing that is not an entity itself: a pronoun after it stays clear."""
    return not attribute.plural and attribute.value not in names.MAKERS


@dataclass
class Cast:
    """Draws names and values for one story; none of them contains another one."""

    rng: Random
    split: Split
    taken: list[str] = field(default_factory=list)

    def _free(self, text: str) -> bool:
        low = text.lower()
        return not any(low in other or other in low for other in self.taken)

    def name(self, make: Callable[[Random, Split], str]) -> str:
        """A new name, or the answer of a value; `make` must be able to go on drawing other ones."""
        while not self._free(made := make(self.rng, self.split)):
            pass
        self.taken.append(made.lower())
        return made

    def entity(self, kind: str) -> Entity:
        """A new entity."""
        while not self._free((made := names.MAKERS[kind](self.rng, self.split)).name):
            pass
        self.taken.append(made.name.lower())
        return made

    def values(self, kind: str, count: int) -> list[Value]:
        """`count` new values of a kind of value, or fewer where its pool is too small."""
        found: list[Value] = []
        for _ in range(_TRIES + 3 * count):
            if len(found) == count:
                break
            value = _value(self.rng, self.split, kind)
            if self._free(value.answer):
                found.append(value)
                self.taken.append(value.answer.lower())
        return found

    def table(
        self, kind: str, rows: int, columns: int, fits: Callable[[Attribute], bool] = plain
    ) -> Mapping[Attribute, list[Value]]:
        """Up to `columns` attributes of an entity kind, at least one, each with `rows` different values."""
        table: dict[Attribute, list[Value]] = {}
        pool = [attribute for attribute in ATTRIBUTES[kind] if fits(attribute)]
        for attribute in self.rng.sample(pool, len(pool)):
            if len(table) == columns:
                break
            if OVERLAPS.get((kind, attribute.name)) in {other.name for other in table}:
                continue
            found = self.values(attribute.value, rows)
            if len(found) == rows:
                table[attribute] = found
        return table


def _value(rng: Random, split: Split, kind: str) -> Value:
    if kind in names.MAKERS:
        target = names.MAKERS[kind](rng, split)
        return Value(target.ref, target.name, target=target)
    return values.MAKERS[kind](rng, split)


def padded(rng: Random, text: str, share: float = 0.35) -> str:
    """The text, now and then with a sentence of no importance before or after it."""
    if rng.random() >= share:
        return text
    parts = [text, rng.choice(frames.PROSE)]
    return " ".join(parts if rng.random() < 0.5 else reversed(parts))
