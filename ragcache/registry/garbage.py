"""Garbage collection: what nobody needs any more, beyond what every opening of a store heals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from ragcache.registry.names import NameTable
from ragcache.registry.records import GcReport, PageRow
from ragcache.registry.shelf import Shelf
from ragcache.registry.store import Store


def collect_garbage(shelf: Shelf, names: NameTable, *, unnamed: bool, dry_run: bool) -> GcReport:
    """Remove ended leases, leftovers of killed processes and quarantined files, or only count them.

    `unnamed`: also pages of texts that no name points at; pinned ones stay. Raises `RegistryError`.
    """
    index = shelf.writable_index()
    with shelf.store.exclusive():
        leases = len(index.leases.ended())
        orphans = list(_orphans(shelf.store))
        quarantined = list(shelf.store.quarantine.iterdir())
        pages = list(_unnamed(shelf, names)) if unnamed else []
        freed_bytes = _size_bytes([*orphans, *quarantined]) + sum(row.size_bytes for row in pages)
        if not dry_run:
            with index.transaction():
                index.leases.sweep()
                for row in pages:
                    shelf.remove(row.digest)
            _remove(orphans, shelf.store)
            for path in quarantined:
                path.unlink()
    return GcReport(leases, len(orphans), len(quarantined), len(pages), freed_bytes)


def remove_leftovers(store: Store) -> int:
    """Remove the files of writers and builders that were killed; how many there were."""
    with store.exclusive():
        orphans = list(_orphans(store))
        _remove(orphans, store)
    return len(orphans)


def _orphans(store: Store) -> Iterator[Path]:
    """Files of writers that were killed: nobody writes while the store's lock is held."""
    for folder in (store.path, store.pages, store.names):
        yield from folder.glob("*.tmp")
    for path in (store.path / "building").iterdir():
        if _unless_locked(path, lambda: None):
            yield path


def _unnamed(shelf: Shelf, names: NameTable) -> Iterator[PageRow]:
    named = names.text_digests()
    index = shelf.writable_index()
    held = index.leases.held()
    for row in shelf.rows():
        if row.text_digest not in named and held.kind(row) is None:
            yield row


def _remove(orphans: list[Path], store: Store) -> None:
    for path in orphans:
        if path.parent == store.path / "building":
            _unless_locked(path, path.unlink)
        else:
            path.unlink(missing_ok=True)


def _unless_locked(path: Path, action: Callable[[], None]) -> bool:
    """Do `action` while holding the lock file at `path`; False when somebody holds it."""
    lock = FileLock(path, timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        return False
    try:
        action()
    finally:
        lock.release()
    return True


def _size_bytes(paths: list[Path]) -> int:
    return sum(path.lstat().st_size for path in paths)
