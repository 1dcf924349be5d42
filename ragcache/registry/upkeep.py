"""Checks of a whole store: rows against files, and every byte against its digest."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from ragcache.errors import StoreDamagedError, StoreFullError
from ragcache.registry.garbage import remove_leftovers
from ragcache.registry.index import Index
from ragcache.registry.names import NameTable
from ragcache.registry.payload import Stamp, stamp_of
from ragcache.registry.records import ROW_HISTORY, PageRow, VerifyReport
from ragcache.registry.shelf import Shelf


def reconcile(shelf: Shelf) -> VerifyReport:
    """Make rows and files agree by the headers, then keep the limit; reads no tensor.

    Runs whenever a store is opened: it heals what a killed process or a lost index left behind.
    """
    index = shelf.index
    if index is None:
        return VerifyReport(ok=0, damaged=0, missing=0, adopted=0)
    with shelf.store.exclusive():
        shelf.files.remove_unfinished()
        sizes = shelf.files.scan()
        rows = shelf.rows()
        kept = [row for row in rows if sizes.get(row.digest) == row.size_bytes]
        lost = [row.digest for row in rows if row.digest not in sizes]
        adopted, damage = _rows_from_headers(shelf, sizes.keys() - {row.digest for row in kept})
        with index.transaction():
            index.leases.sweep()
            _replace_rows(index, lost, adopted)
        with suppress(StoreFullError):  # pins that keep too much must not keep the store shut
            shelf.make_room(0)
    messages = (
        *damage,
        *(f"{digest}: the file is gone, so its row was dropped." for digest in lost),
        *(f"{row.digest}: had no row of its size, adopted from its header." for row in adopted),
    )
    return VerifyReport(0, len(damage), len(lost), len(adopted), messages)


def verify(shelf: Shelf, names: NameTable, *, repair: bool = False) -> VerifyReport:
    """`reconcile`, then read every byte of every page, and every name; damaged files are quarantined.

    `repair` also makes rows anew that contradict their page's header, keeping what they tell of its use, and
    removes what killed processes left behind. Raises `RegistryError`.
    """
    if repair:
        shelf.writable_index()
    report = reconcile(shelf)
    ok, damage = _check_pages(shelf)
    wrong = _wrong_rows(shelf)
    leftovers = 0
    if repair:
        _make_anew(shelf, wrong)
        leftovers = remove_leftovers(shelf.store)
    intact, lost = names.check()
    messages = (
        *damage,
        *(f"{row.digest}: its row says something else than its header." for row in wrong),
        *(f"name {name}: cannot be read, so it is forgotten; register it anew." for name in lost),
    )
    return replace(
        report,
        ok=ok,
        damaged=report.damaged + len(damage),
        contradicted=len(wrong),
        names=intact,
        damaged_names=len(lost),
        leftovers=leftovers,
        messages=(*report.messages, *messages),
    )


def _check_pages(shelf: Shelf) -> tuple[int, list[str]]:
    """The number of sound pages, and a message for each that is not."""
    ok = 0
    damage: list[str] = []
    for digest in sorted(shelf.files.scan()):
        stamp: Stamp | None = None
        try:
            stamp = stamp_of(shelf.store.page_path(digest))
            shelf.files.check(digest)
            ok += 1
        except FileNotFoundError:
            continue  # evicted meanwhile
        except StoreDamagedError as error:
            shelf.quarantine(digest, stamp, error)
            damage.append(str(error))
        except OSError as error:
            damage.append(f"{digest}: cannot be read ({error}).")
    return ok, damage


def _wrong_rows(shelf: Shelf) -> list[PageRow]:
    """Rows as they should be of pages whose row does not say what their header says."""
    wrong = []
    for row in shelf.rows() if shelf.index is not None else ():
        with suppress(StoreDamagedError, OSError):  # a page that is damaged or gone was told of already
            told = shelf.files.row(row.digest)
            known = {field: getattr(row, field) for field in ROW_HISTORY}
            if replace(told, **known) != row:
                wrong.append(replace(told, **known))
    return wrong


def _make_anew(shelf: Shelf, rows: Iterable[PageRow]) -> None:
    """Put `rows` in the place of what the index says of their pages, and rank all of them again."""
    index = shelf.writable_index()
    with shelf.store.exclusive(), index.transaction():
        anew = {row.digest: row for row in rows}
        present = index.rows()
        if any(row.digest in anew for row in present):
            index.rebuild([anew.get(row.digest, row) for row in present])
    with shelf.store.exclusive(), suppress(StoreFullError):  # as in `reconcile`
        shelf.make_room(0)


def _rows_from_headers(shelf: Shelf, digests: Iterable[str]) -> tuple[list[PageRow], list[str]]:
    """Rows, oldest first, of files that lack one, and a message for each file that is damaged."""
    rows, damage = [], []
    for digest in sorted(digests):
        stamp: Stamp | None = None
        try:
            stamp = stamp_of(shelf.store.page_path(digest))
            rows.append(shelf.files.row(digest))
        except StoreDamagedError as error:
            shelf.quarantine(digest, stamp, error)
            damage.append(str(error))
    return sorted(rows, key=lambda row: row.created_s), damage


def _replace_rows(index: Index, lost: Iterable[str], adopted: Iterable[PageRow]) -> None:
    """Rows as the files are; the whole index anew only when it does not agree with itself."""
    rows = index.rows()
    if not index.agrees(rows):
        index.rebuild(rows)
    for digest in lost:
        index.delete(digest)
    for row in adopted:
        index.add(row)
