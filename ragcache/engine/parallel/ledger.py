"""Who serves and what each was sent: the pool's book, which starts nothing and locks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import count
from typing import Protocol

from ragcache.engine.costs import RowCost
from ragcache.engine.parallel.errand import Errand
from ragcache.engine.parallel.footprint import FetchPrice
from ragcache.engine.parallel.messages import Failed, Result
from ragcache.engine.parallel.router import ReplicaState, Residency, choose
from ragcache.engine.request import Completion


class Process(Protocol):
    """What can be told something."""

    def send(self, message: object) -> None:
        """Say `message`."""
        ...


@dataclass
class Serving:
    """A replica that serves now, and what its forwards took."""

    process: Process
    state: ReplicaState
    cost: RowCost


@dataclass(frozen=True)
class Placed:
    """An errand under its `number`, and the replica it was sent to, which lacked `missing` affix tokens."""

    number: int
    errand: Errand
    replica: int
    process: Process
    missing: int


class Ledger:
    """Replicas and errands by number. A replica has room while it has fewer than `room` errands."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._serving: dict[int, Serving] = {}
        self._placed: dict[int, Placed] = {}
        self._numbers = count(1)
        self._price = FetchPrice()

    def __len__(self) -> int:
        """Replicas that serve."""
        return len(self._serving)

    @property
    def has_room(self) -> bool:
        """Whether a replica has room."""
        return any(len(serving.state.rows) < self._room for serving in self._serving.values())

    @property
    def row_cost(self) -> RowCost:
        """What forwards took, of all replicas together."""
        costs = [astuple(serving.cost) for serving in self._serving.values()]
        return RowCost(*map(sum, zip(*costs, strict=True))) if costs else RowCost()

    def enter(self, replica: int, process: Process, resident_tokens: int) -> None:
        """It serves from now on, with nothing in a memory that holds so many affix tokens."""
        self._serving[replica] = Serving(process, ReplicaState(Residency(resident_tokens)), RowCost())

    def leave(self, replica: int) -> list[Errand]:
        """It serves no more; what it was sent and did not answer."""
        self._serving.pop(replica, None)
        mine = [placed for placed in self._placed.values() if placed.replica == replica]
        return [self._placed.pop(placed.number).errand for placed in mine]

    def place(self, errand: Errand) -> Placed:
        """Have it done by the cheapest replica, of those with room if there are such. One must serve."""
        states = {at: serving.state for at, serving in self._serving.items()}
        free = {at: state for at, state in states.items() if len(state.rows) < self._room}
        at = choose(free or states, errand.footprint, self._price.rows)
        number, serving = next(self._numbers), self._serving[at]
        missing = serving.state.send(number, errand.footprint, self._price.rows)
        errand.tries += 1
        self._placed[number] = Placed(number, errand, at, serving.process, missing)
        return self._placed[number]

    def placed(self, number: int) -> Errand | None:
        """The errand under `number`; None once it is settled, or was placed anew under another."""
        found = self._placed.get(number)
        return None if found is None else found.errand

    def of(self, errand: Errand) -> Sequence[Placed]:
        """Where it is."""
        return [placed for placed in self._placed.values() if placed.errand is errand]

    def settle(self, number: int, said: Result | Failed | None = None) -> Errand | None:
        """Forget what is under `number`, and learn what it cost from what was `said` of it."""
        placed = self._placed.pop(number, None)
        if placed is None:
            return None
        serving = self._serving[placed.replica]
        serving.state.answer(number)
        if said is not None:
            serving.cost = said.row_cost
        if isinstance(said, Result) and isinstance(said.value, Completion):
            timings = said.value.timings
            self._price.observe(placed.missing, timings.load_s + timings.encode_s, serving.cost)
        return placed.errand
