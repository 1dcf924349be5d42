"""The part of the registry that looks after a whole store: rows, checks, repairs, affixes in and out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragcache.registry.bundle import Maker, TransferReport
from ragcache.registry.exporting import export_affixes
from ragcache.registry.garbage import collect_garbage
from ragcache.registry.importing import import_affixes
from ragcache.registry.key import DEFAULT_NAMESPACE
from ragcache.registry.open_store import OpenStore
from ragcache.registry.records import GcReport, PageRow, VerifyReport
from ragcache.registry.upkeep import verify


class KeptStore(OpenStore):
    """An open store with its upkeep. Raises as `Registry` does."""

    def pages(self, text_digest: str | None = None) -> tuple[PageRow, ...]:
        """One row per page on disk, most recently used first; of one text, or of all."""
        self._check_open()
        with self._store.translated():
            rows = self._shelf.rows()
        mine = (row for row in rows if text_digest is None or row.text_digest == text_digest)
        return tuple(sorted(mine, key=lambda row: row.use_order, reverse=True))

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Read every byte of every page, and every name; damaged files are set aside, rows made to fit.

        `repair` also makes rows anew that say something else than their page's header, and removes what
        killed processes left behind. Raises what writing raises in `put`, with `repair` only.
        """
        self._check_open()
        with self._store.translated():
            return verify(self._shelf, self._names, repair=repair)

    def collect_garbage(self, *, unnamed: bool = False, dry_run: bool = False) -> GcReport:
        """Remove ended leases, leftovers of killed processes and quarantined files, or only count them.

        `unnamed`: also pages of texts that no name points at; pinned ones stay. Raises what writing raises
        in `put`.
        """
        self._check_open()
        return collect_garbage(self._shelf, self._names, unnamed=unnamed, dry_run=dry_run)

    def export_affixes(
        self, names: Sequence[str], path: Path, maker: Maker, *, namespace: str = DEFAULT_NAMESPACE
    ) -> TransferReport:
        """Write texts and pages of `names` to one file, whole or not at all; `maker` says whose pages.

        Raises `UnknownAffixError`, `InputError` for no name or one without such a page, `BundleError` when
        `path` cannot be written, and `RegistryError`.
        """
        self._check_open()
        records = {record.name: record for record in (self.lookup(name, namespace) for name in names)}
        return export_affixes(self._shelf, list(records.values()), path, maker)

    def import_affixes(
        self,
        path: Path,
        maker: Maker,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        replace_names: bool = False,
        digest: str | None = None,
    ) -> TransferReport:
        """Store what `export_affixes` wrote, after all of it was checked. See `importing.import_affixes`."""
        self._check_open()
        return import_affixes(
            self._shelf,
            self._names,
            path,
            maker,
            namespace=namespace,
            replace_names=replace_names,
            digest=digest,
        )
