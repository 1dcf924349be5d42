"""Pins: leases on pages, kept in the index, that end on their own."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal, get_args

from ragcache.errors import ConfigError
from ragcache.registry.moment import Moment
from ragcache.registry.records import PageRow
from ragcache.registry.table import Table

PinKind = Literal["hard", "soft"]
LEASES = "lease:"


@dataclass(frozen=True)
class Lease:
    """`kind` of pin on whatever `subject` names, a page's digest or a text's, for `seconds` from `since`."""

    subject: str
    kind: PinKind
    since: Moment
    seconds: float

    @property
    def key(self) -> str:
        """Where the table keeps it: one lease for a subject and kind."""
        return f"{LEASES}{self.kind}:{self.subject}"

    def left_s(self, now: Moment) -> float:
        """Seconds until it ends, never more than it was given."""
        return self.seconds - self.since.age_s(now)

    def to_json(self) -> str:
        """The lease as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: object) -> Lease | None:
        """The lease in `text`, or None when `to_json` cannot have written it."""
        try:
            data = json.loads(text) if isinstance(text, str) else {}
            lease = cls(**{**data, "since": Moment(**data["since"])})
            times = (lease.seconds, lease.since.elapsed_s, lease.since.wall_s)
            sound = lease.kind in get_args(PinKind) and all(math.isfinite(value) for value in times)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None
        return lease if sound else None


@dataclass(frozen=True)
class Held:
    """What is pinned at one moment: digests of pages and of texts."""

    hard: frozenset[str]
    soft: frozenset[str]

    def kind(self, row: PageRow) -> PinKind | None:
        """How the page of `row` is pinned."""
        subjects = {row.digest, row.text_digest}
        if subjects & self.hard:
            return "hard"
        return "soft" if subjects & self.soft else None


class Leases:
    """The leases of one store. Writes happen under the store's lock."""

    def __init__(self, table: Table, now: Callable[[], Moment] = Moment.now) -> None:
        self._table = table
        self._now = now

    def take(self, subject: str, kind: PinKind, seconds: float) -> Lease:
        """Pin `subject`; a lease of this kind that lasts longer stays. Raises `ConfigError`."""
        if kind not in get_args(PinKind):
            raise ConfigError(f"a pin is 'hard' or 'soft', not {kind!r}.")
        if type(seconds) not in (int, float) or not 0 < seconds < math.inf:
            raise ConfigError(f"a pin for {seconds!r} seconds; give a number above 0 that is not infinite.")
        now = self._now()
        lease = Lease(subject, kind, now, float(seconds))
        old = Lease.from_json(self._table.get(lease.key))
        if old is not None and old.left_s(now) >= seconds:
            return old
        self._table.set(lease.key, lease.to_json())
        return lease

    def drop(self, subject: str) -> bool:
        """Lift all pins of `subject`; whether there was one."""
        now = self._now()
        mine = [lease for lease in self._all() if lease.subject == subject]
        for lease in mine:
            self._table.delete(lease.key)
        return any(lease.left_s(now) > 0 for lease in mine)

    def active(self) -> list[Lease]:
        """The leases that have not ended."""
        now = self._now()
        return [lease for lease in self._all() if lease.left_s(now) > 0]

    def held(self) -> Held:
        """What the active leases are on."""
        active = self.active()
        hard = frozenset(lease.subject for lease in active if lease.kind == "hard")
        return Held(hard, frozenset(lease.subject for lease in active) - hard)

    def ended(self) -> list[str]:
        """Table keys of leases that have ended or cannot be read."""
        now = self._now()
        found = ((key, Lease.from_json(value)) for key, value in self._table.items(LEASES))
        return [key for key, lease in found if lease is None or lease.key != key or lease.left_s(now) <= 0]

    def sweep(self) -> int:
        """Drop ended leases and let the others run on this boot's clock; how many were dropped.

        So a wall clock that a restart set back cannot stretch a lease beyond the seconds it was given.
        """
        now = self._now()
        ended = self.ended()
        for key in ended:
            self._table.delete(key)
        for lease in self._all():
            if not lease.since.same_boot(now):
                moved = replace(lease, since=now, seconds=lease.left_s(now))
                self._table.set(lease.key, moved.to_json())
        return len(ended)

    def _all(self) -> Iterator[Lease]:
        for key, value in list(self._table.items(LEASES)):
            lease = Lease.from_json(value)
            if lease is not None and lease.key == key:
                yield lease
