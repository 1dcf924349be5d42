"""How much may lie in a store, and which pages leave to keep it so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ragcache.errors import AffixTooLargeError, ConfigError, StoreFullError, StorePinnedError
from ragcache.registry.index import WHOLE, Index, scope_of
from ragcache.registry.records import PageRow


@dataclass(frozen=True)
class Limit:
    """Most bytes of the pages of a scope; `called` is its name in messages, `remedy` what lifts it."""

    scope: str
    most_bytes: int
    called: str
    remedy: str


@dataclass(frozen=True)
class Victim:
    """A page that has to leave, because `scope` is over its limit."""

    row: PageRow
    scope: str


@dataclass(frozen=True)
class Limits:
    """Most bytes of all page files, and of those of single namespaces.

    A quota of 0 stores nothing of its namespace. Raises `ConfigError` for a `limit_bytes` of 0, for a
    store that can hold nothing is better left out, and for anything that is no whole number.
    """

    limit_bytes: int
    quotas: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_bytes("limit_bytes", self.limit_bytes, least=1)
        for namespace, quota in self.quotas.items():
            check_bytes(f"the quota of namespace {namespace!r}", quota, least=0)

    def of(self, namespace: str | None = None) -> list[Limit]:
        """The limits that a page of `namespace` falls under, the narrowest first; without one, all limits."""
        mine = self.quotas.keys() & {namespace} if namespace is not None else self.quotas.keys()
        quotas = [
            Limit(scope_of(name), self.quotas[name], f"the quota of namespace {name!r}", "raise it")
            for name in sorted(mine)
        ]
        return [*quotas, Limit(WHOLE, self.limit_bytes, "the store's limit", "raise limit_bytes")]

    def check(self, row: PageRow) -> None:
        """Raise `AffixTooLargeError` when the page can never fit."""
        for limit in self.of(row.namespace):
            if row.size_bytes > limit.most_bytes:
                raise AffixTooLargeError(
                    f"the page of {row.tokens} tokens needs {row.size_bytes} bytes, {limit.called} is "
                    f"{limit.most_bytes}; {limit.remedy} or shorten the affix."
                )

    def victims(self, index: Index, needed_bytes: int, namespace: str | None = None) -> list[Victim]:
        """Pages that must go before `needed_bytes` of `namespace` fit; changes nothing.

        Soft pins go last, hard ones never. Raises `StorePinnedError` when pins leave too little room,
        `StoreFullError` when the index lists too few pages.
        """
        victims: dict[str, Victim] = {}
        for limit in self.of(namespace):
            excess_bytes = index.usage(limit.scope).size_bytes + needed_bytes - limit.most_bytes
            excess_bytes -= sum(v.row.size_bytes for v in victims.values() if _in_scope(v.row, limit.scope))
            if excess_bytes <= 0:
                continue
            for row in _candidates(index, limit.scope):
                if row.digest not in victims:
                    victims[row.digest] = Victim(row, limit.scope)
                    excess_bytes -= row.size_bytes
                if excess_bytes <= 0:
                    break
            else:
                raise _no_room(index, limit, needed_bytes)
        return list(victims.values())


def check_bytes(name: str, value: object, least: int) -> None:
    """Raise `ConfigError` unless `value` is a whole number of at least `least` bytes."""
    if type(value) is not int or value < least:
        raise ConfigError(f"{name} is {value!r}; give a whole number of bytes, at least {least}.")


def _in_scope(row: PageRow, scope: str) -> bool:
    return scope in (WHOLE, scope_of(row.namespace))


def _candidates(index: Index, scope: str) -> Iterator[PageRow]:
    """Pages that may go, the next victim first: those that are not pinned, then the soft pins."""
    held = index.leases.held()
    soft = []
    for row in index.in_order(scope):
        kind = held.kind(row)
        if kind is None:
            yield row
        elif kind == "soft":
            soft.append(row)
    yield from soft


def _no_room(index: Index, limit: Limit, needed_bytes: int) -> StoreFullError:
    pinned = index.leases.held().hard
    if pinned:
        return StorePinnedError(
            f"pins leave no room for {needed_bytes} bytes under {limit.called} of {limit.most_bytes}: "
            f"unpin some, wait until their leases end, or {limit.remedy}."
        )
    return StoreFullError(
        f"too few pages are known to make room for {needed_bytes} bytes under {limit.called} of "
        f"{limit.most_bytes}; close the registry and open it again."
    )
