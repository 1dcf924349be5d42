"""The index: one small JSON row per page, and the order in which pages would be evicted.

It holds nothing that the payload headers do not, except the history of use, leases and ghosts, so a
damaged one is thrown away. Rows, order and totals change in one transaction.

    page:{digest}                               the row
    order:{scope}:{priority}{last use}:{digest} next victim first
    entries:{scope}, bytes:{scope}              totals of the rows
    floor:{scope}                               the highest priority evicted (the L of GDSF)
    total:{what}                                sums over the store's life
    lease:..., ghost:...                        see those modules

A scope is the whole store, or one namespace: each is a queue of its own.
"""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

from ragcache.errors import ConfigError
from ragcache.registry.eviction import GDSF, EvictionPolicy
from ragcache.registry.ghosts import GHOSTS, Ghosts
from ragcache.registry.leases import LEASES, Leases
from ragcache.registry.records import LARGEST, PageRow, Usage
from ragcache.registry.table import Table
from ragcache.registry.uses import Use

WHOLE = ""
"""The scope of all pages."""
_PAGE = "page:"
_TOTAL = "total:"
_POLICY = "policy"
_CLOCK = "clock"


def scope_of(namespace: str) -> str:
    """The scope of a namespace; never that of the whole store, whatever the name."""
    return json.dumps(namespace)


class Index:
    """Rows by page digest, ranked by `policy` (GDSF).

    Opening must happen under the store's lock. Methods raise as those of `Table` do.
    """

    def __init__(self, folder: Path, policy: EvictionPolicy | None = None) -> None:
        self.table = Table(folder)
        self.leases = Leases(self.table)
        self.ghosts = Ghosts(self.table)
        self._policy = policy or GDSF()

    def row(self, digest: str) -> PageRow | None:
        """The row of a page, or None; one that cannot be read counts as absent."""
        row = PageRow.from_json(self.table.get(_PAGE + digest))
        return row if row is not None and row.digest == digest else None

    def rows(self) -> list[PageRow]:
        """All rows, in no particular order."""
        found = ((key, PageRow.from_json(value)) for key, value in self.table.items(_PAGE))
        return [row for key, row in found if row is not None and key == _PAGE + row.digest]

    def in_order(self, scope: str = WHOLE) -> Iterator[PageRow]:
        """Rows of `scope`, next victim first, read as they are asked for."""
        for key, _ in self.table.items(f"order:{scope}:"):
            row = self.row(key.rpartition(":")[2])
            if row is not None:
                yield row

    def usage(self, scope: str = WHOLE) -> Usage:
        """Totals of `scope`, without reading its rows."""
        return Usage(self._whole(f"entries:{scope}"), self._whole(f"bytes:{scope}"))

    def usages(self) -> dict[str, Usage]:
        """Totals by namespace, of those that have pages."""
        usages = {}
        for key, count in self.table.items('entries:"'):
            scope = key.removeprefix("entries:")
            with suppress(ValueError, RecursionError):  # a key that is not ours; `agrees` notices
                if count and isinstance(namespace := json.loads(scope), str):
                    usages[namespace] = self.usage(scope)
        return usages

    def total(self, what: str) -> float:
        """A sum over the store's life."""
        value = self.table.get(_TOTAL + what)
        return value if isinstance(value, int | float) and math.isfinite(value) else 0

    def add_total(self, what: str, amount: float) -> None:
        """Add to `total`."""
        self.table.add(_TOTAL + what, amount)

    def add(self, row: PageRow) -> None:
        """Insert or replace a row; it becomes the most recently used."""
        with self.transaction():
            self.delete(row.digest)
            self._insert(self._ranked(replace(row, use_order=self._next_use())))
            self._count(row, 1)

    def add_built(self, row: PageRow) -> None:
        """`add` a page that was built now; if it was evicted lately, note how soon it was wanted again."""
        with self.transaction():
            self.add(row)
            gap_s = self.ghosts.take(row.digest)
            if gap_s is not None:
                self.add_total("gaps", 1)
                self.add_total("gap_s", gap_s)

    def delete(self, digest: str) -> None:
        """Remove a row, if it is there."""
        with self.transaction():
            old = self.row(digest)
            if old is not None:
                self._unlist(old)
                self._count(old, -1)
            self.table.delete(_PAGE + digest)

    def evict(self, row: PageRow, scope: str) -> None:
        """Remove a row as the lowest of `scope`, which raises the floor there, and remember it as a ghost."""
        with self.transaction():
            self.delete(row.digest)
            lost = row.priority if scope == WHOLE else row.namespace_priority
            self.table.set(f"floor:{scope}", max(self._floor(scope), lost))
            self.ghosts.add(row.digest)
            self.add_total("evicted", 1)

    def use(self, uses: Mapping[str, Use]) -> float:
        """Add hits to rows, the last one being the most recently used; the seconds the hits saved.

        Absent rows stay absent.
        """
        hits, saved_s = 0, 0.0
        with self.transaction():
            for digest, use in uses.items():
                old = self.row(digest)
                if old is not None:
                    row = self._ranked(old.used(use.hits, use.load_s, self._next_use()))
                    self._unlist(old)
                    self._insert(row)
                    hits += use.hits
                    saved_s += use.hits * row.saves_s
            self.add_total("hits", hits)
            self.add_total("saved_s", saved_s)
        return saved_s

    def agrees(self, rows: Iterable[PageRow]) -> bool:
        """Whether order and totals are those of `rows`, ranked by this index's policy."""
        listed = {key for key, _ in self.table.items("order:")}
        usages = _usages(rows)
        return (
            self.table.get(_POLICY) == self._policy.name
            and listed == {key for row in rows for key in _order_keys(row)}
            and usages.pop(WHOLE, Usage()) == self.usage()
            and usages == {scope_of(namespace): usage for namespace, usage in self.usages().items()}
        )

    def rebuild(self, rows: Iterable[PageRow]) -> None:
        """Make `rows` all there is, in their order of use, ranked anew; leases, ghosts and sums stay."""
        with self.transaction():
            self.table.keep_only([LEASES, GHOSTS, _TOTAL])
            self.table.set(_POLICY, self._policy.name)
            for row in sorted(rows, key=lambda row: row.use_order):
                self._insert(self._ranked(replace(row, use_order=self._next_use())))
                self._count(row, 1)

    def transaction(self) -> AbstractContextManager[None]:
        """All changes inside happen together or not at all; may be nested."""
        return self.table.transaction()

    def close(self) -> None:
        """Close this thread's connection; those of other threads end with them."""
        self.table.close()

    def _insert(self, row: PageRow) -> None:
        self.table.set(_PAGE + row.digest, row.to_json())
        for key in _order_keys(row):
            self.table.set(key, 1)

    def _unlist(self, row: PageRow) -> None:
        for key in _order_keys(row):
            self.table.delete(key)

    def _count(self, row: PageRow, sign: int) -> None:
        for scope in (WHOLE, scope_of(row.namespace)):
            self.table.set(f"entries:{scope}", max(0, self._whole(f"entries:{scope}") + sign))
            self.table.set(f"bytes:{scope}", max(0, self._whole(f"bytes:{scope}") + sign * row.size_bytes))

    def _ranked(self, row: PageRow) -> PageRow:
        own = self._policy.priority(row, self._floor(WHOLE))
        in_namespace = self._policy.priority(row, self._floor(scope_of(row.namespace)))
        if not all(math.isfinite(value) and value >= 0 for value in (own, in_namespace)):
            raise ConfigError(
                f"eviction policy {self._policy.name!r} gave the priority {own}; it must be 0 or more."
            )
        return replace(row, priority=own + 0.0, namespace_priority=in_namespace + 0.0)  # -0.0 sorts last

    def _floor(self, scope: str) -> float:
        value = self.table.get(f"floor:{scope}")
        return value if isinstance(value, float) and 0 <= value < math.inf else 0.0

    def _whole(self, name: str) -> int:
        value = self.table.get(name)
        return value if type(value) is int and 0 <= value < LARGEST else 0

    def _next_use(self) -> int:
        order = self._whole(_CLOCK) + 1
        self.table.set(_CLOCK, order)
        return order


def _order_keys(row: PageRow) -> tuple[str, str]:
    """Keys that sort as (priority, last use) do, in the whole store and in the row's namespace."""
    ranks = ((WHOLE, row.priority), (scope_of(row.namespace), row.namespace_priority))
    whole, own = (
        f"order:{scope}:{struct.pack('>dQ', priority, row.use_order).hex()}:{row.digest}"
        for scope, priority in ranks
    )
    return whole, own


def _usages(rows: Iterable[PageRow]) -> dict[str, Usage]:
    entries: Counter[str] = Counter()
    size_bytes: Counter[str] = Counter()
    for row in rows:
        for scope in (WHOLE, scope_of(row.namespace)):
            entries[scope] += 1
            size_bytes[scope] += row.size_bytes
    return {scope: Usage(entries[scope], size_bytes[scope]) for scope in entries}
