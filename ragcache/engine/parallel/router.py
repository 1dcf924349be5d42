"""Which replica gets a request: the one that has least to do before it is answered. Knows no process.

The cost of a replica is counted in rows, of which one is a token computed through all layers:

    cost = rows of what it was sent and has not answered
         + fetch_rows * affix tokens of this request that it has not in memory

Affix tokens that are resident cost nothing, so requests follow their affixes. But every request that waits
makes its replica dearer, so a hot affix spreads once waiting costs more than fetching it elsewhere. Requests
with unknown affixes go where least is to be done. Ties go to the lower number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

AffixIds: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Footprint:
    """What a request asks of a replica: affixes, by their own token ids, and `rows` to compute."""

    affixes: frozenset[AffixIds] = frozenset()
    rows: float = 0.0


NOTHING = Footprint()


class Residency:
    """Affixes that a replica has in memory as far as one can tell from outside: the last ones it was sent.

    At most `most_tokens` of them, least recently sent first out.
    """

    def __init__(self, most_tokens: int) -> None:
        self._most_tokens = most_tokens
        self._affixes: OrderedDict[AffixIds, None] = OrderedDict()
        self.tokens = 0

    def missing(self, affixes: Collection[AffixIds]) -> int:
        """Tokens of those `affixes` that are not resident."""
        return sum(len(ids) for ids in affixes if ids not in self._affixes)

    def add(self, affixes: Collection[AffixIds]) -> None:
        """They are used now; one that is larger than the whole memory stays nowhere."""
        for ids in sorted(affixes):  # sets have no order, and what is dropped must not depend on chance
            if len(ids) > self._most_tokens:
                continue
            if ids not in self._affixes:
                self.tokens += len(ids)
            self._affixes[ids] = None
            self._affixes.move_to_end(ids)
            while self.tokens > self._most_tokens:
                dropped, _ = self._affixes.popitem(last=False)
                self.tokens -= len(dropped)


@dataclass
class ReplicaState:
    """What is known of one replica: its affixes, and the rows of what it has not answered yet, by number."""

    residency: Residency
    rows: dict[int, float] = field(default_factory=dict)

    def cost(self, footprint: Footprint, fetch_rows: float) -> float:
        """See the module."""
        return sum(self.rows.values()) + fetch_rows * self.residency.missing(footprint.affixes)

    def send(self, number: int, footprint: Footprint, fetch_rows: float) -> int:
        """Count what is sent under `number`; affix tokens that were missing."""
        missing = self.residency.missing(footprint.affixes)
        self.rows[number] = footprint.rows + fetch_rows * missing
        self.residency.add(footprint.affixes)
        return missing

    def answer(self, number: int) -> None:
        """What was sent under `number` is done."""
        self.rows.pop(number, None)


def choose(states: Mapping[int, ReplicaState], footprint: Footprint, fetch_rows: float) -> int:
    """The number of the cheapest of the replicas `states`, at least one."""
    return min(sorted(states), key=lambda number: states[number].cost(footprint, fetch_rows))
