"""The part of the registry that opens no page: names and pins."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path

from ragcache.errors import StoreUnavailableError, UnknownAffixError
from ragcache.registry.encryption import Cipher
from ragcache.registry.eviction import EvictionPolicy
from ragcache.registry.key import SHARED_NAMESPACE, AffixKey
from ragcache.registry.leases import PinKind
from ragcache.registry.names import NameTable, Texts, check_name, normalise_text
from ragcache.registry.records import AffixRecord, Counters
from ragcache.registry.room import Limits
from ragcache.registry.shelf import Shelf
from ragcache.registry.store import Store
from ragcache.registry.upkeep import reconcile

_log = logging.getLogger(__name__)


class OpenStore:
    """An open store: its names, and what is pinned; `KeptStore` adds its upkeep, `Registry` the pages.

    With a `cipher` the store is encrypted. `on_drop` is told the digest of every page that leaves. Raises as
    `Registry` does.
    """

    def __init__(
        self,
        path: Path,
        limits: Limits,
        eviction: EvictionPolicy | None,
        cipher: Cipher | None,
        on_drop: Callable[[str], None],
    ) -> None:
        self._counters = Counters()
        self._store = Store(path, cipher)
        if self._store.network:
            _log.warning(
                "%s lies on a network file system (%s), where pages load slowly and locks may fail; use a "
                "local folder (--store) and share pages through an object store (--remote).",
                self._store.path,
                self._store.network,
            )
        self._names = NameTable(self._store)
        self._shelf = Shelf(self._store, limits, eviction, self._counters, on_drop)
        self._closed = False
        reconcile(self._shelf)

    @property
    def encrypted(self) -> bool:
        """Whether pages and names are encrypted on the disk."""
        return self._store.cipher is not None

    def register(
        self, name: str, text: str, *, namespace: str = "default", source: str | None = None
    ) -> AffixRecord:
        """Point `name` at `text`, normalised; the pages of an earlier text stay until evicted.

        `source` names what keeps the text up to date (a folder); None leaves it as it was.

        Raises `InputError` for an unusable name or an empty text, and what writing raises in `put`.
        """
        self._check_open()
        return self._names.register(name, text, namespace, source)

    def find(self, name: str, namespace: str = "default") -> AffixRecord | None:
        """The record of `name`, or None; unlike a `lookup` that fails it reads no other name."""
        self._check_open()
        return self._names.find(name, namespace)

    def lookup(self, name: str, namespace: str = "default") -> AffixRecord:
        """The record of `name`. Raises `UnknownAffixError` naming close ones."""
        self._check_open()
        return self._names.lookup(name, namespace)

    def lookup_shared(self, name: str, namespace: str, shared: Collection[str]) -> AffixRecord:
        """The record of `name` in `namespace`, else, if `shared` lists it, the public one."""
        try:
            return self.lookup(name, namespace)
        except UnknownAffixError:
            if name not in shared:
                raise
            return self.lookup(name, SHARED_NAMESPACE)

    def names(self, namespace: str = "default") -> tuple[AffixRecord, ...]:
        """All records of a namespace, sorted by name."""
        self._check_open()
        return self._names.names(namespace)

    def texts(self, namespace: str = "default") -> Texts:
        """The registered texts of a namespace by name; cheap, and the same object, while nothing changed."""
        self._check_open()
        return self._names.texts(namespace)

    def remove(self, name: str, namespace: str = "default") -> AffixRecord:
        """Forget `name`, and drop the pages of its text unless another name has that text.

        Raises `UnknownAffixError`, and what writing raises in `put`.
        """
        self._check_open()
        self._shelf.writable_index()
        with self._store.exclusive():
            record = self._names.remove(name, namespace)
            self.drop_unnamed(record.text_digest, namespace)
        return record

    def drop_unnamed(self, text_digest: str, namespace: str = "default") -> None:
        """Drop the pages of a text unless a name still has it. Raises what writing raises in `put`."""
        self._check_open()
        index = self._shelf.writable_index()
        with self._store.exclusive():
            if all(other.text_digest != text_digest for other in self._names.names(namespace)):
                index.leases.drop(text_digest)
                for row in index.rows():
                    if row.text_digest == text_digest:
                        self._shelf.remove(row.digest)

    def pin(
        self,
        target: str | AffixKey,
        kind: PinKind = "hard",
        *,
        seconds: float = 3600.0,
        namespace: str = "default",
    ) -> None:
        """Keep the page of a key, or all pages of the text a name has now, also those built later.

        A hard pin is never evicted, a soft one last. It ends after `seconds`, whatever becomes of this
        process; pinning again makes it last longer, never shorter. A page removed by name is gone all
        the same. Raises `ConfigError`, `UnknownAffixError`, and what writing raises in `put`.
        """
        self._check_open()
        leases = self._shelf.writable_index().leases
        subject = self._subject(target, namespace)
        with self._store.exclusive():
            leases.sweep()
            leases.take(subject, kind, seconds)

    def unpin(self, target: str | AffixKey, *, namespace: str = "default") -> bool:
        """Lift the pins of `target`, whoever set them; whether there were any. Raises as `pin` does."""
        self._check_open()
        leases = self._shelf.writable_index().leases
        subject = self._subject(target, namespace)
        with self._store.exclusive():
            return leases.drop(subject)

    def text_digest(self, text: str, namespace: str = "default") -> str:
        """The `AffixRecord.text_digest` that registering `text` would give. Raises `InputError`."""
        return self._names.text_digest(normalise_text(text), check_name(namespace, "namespace"))

    def _subject(self, target: str | AffixKey, namespace: str) -> str:
        if isinstance(target, AffixKey):
            return target.digest(self._store.secret)
        return self._names.lookup(target, namespace).text_digest

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailableError(f"the registry of {self._store.path} was closed; open it again.")
