"""Checks of a whole store: rows against files, and every byte against its digest."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ragcache.errors import StoreDamagedError, StoreFullError
from ragcache.registry.index import Index
from ragcache.registry.payload import Stamp, stamp_of
from ragcache.registry.records import PageRow, VerifyReport
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


def verify(shelf: Shelf) -> VerifyReport:
    """`reconcile`, then read every byte of every page; damaged files are quarantined."""
    report = reconcile(shelf)
    damage = []
    ok = 0
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
    return VerifyReport(
        ok, report.damaged + len(damage), report.missing, report.adopted, (*report.messages, *damage)
    )


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
