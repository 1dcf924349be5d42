"""The name table: name -> text, one small JSON file per name.

Apart from the index because it cannot be rebuilt from payloads. A name is data: the file is called by
a digest of namespace and name, so no name can lead out of the folder or be read off a listing.
"""

from __future__ import annotations

import difflib
import json
import logging
import os
import time
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ragcache.durable import sync_folder
from ragcache.errors import InputError, StoreDamagedError, UnknownAffixError
from ragcache.registry.payload import Stamp, stamp_of
from ragcache.registry.records import AffixRecord
from ragcache.registry.store import Store
from ragcache.text import normalise

NAME_LIMIT = 1000
SETTLED_NS = 3 * 10**9
"""Age at which a folder's time tells a later change apart: more than a tick of any clock (FAT's take 2 s)."""
_CLOSE_NAMES = 3
_log = logging.getLogger(__name__)


def normalise_text(text: str) -> str:
    """`ragcache.text.normalise`d text. Raises `InputError` for nothing but blanks."""
    if not isinstance(text, str):
        raise InputError(f"an affix text must be str, not {type(text).__name__}.")
    normal = normalise(text)
    if not normal.strip():
        raise InputError("the affix text is empty; give at least one character that is not a blank.")
    return _encodable(normal, "the affix text")


def check_name(name: str, what: str = "affix name") -> str:
    """`name` in NFC. Raises `InputError` when empty, too long, with NUL, or not Unicode text."""
    if not isinstance(name, str) or not name:
        raise InputError(f"the {what} is {name!r}; give a text that is not empty.")
    if len(name) > NAME_LIMIT:
        raise InputError(f"the {what} has {len(name)} characters; the limit is {NAME_LIMIT}.")
    if "\0" in name:
        raise InputError(f"the {what} {name!r} holds a NUL character; take it out.")
    return _encodable(unicodedata.normalize("NFC", name), f"the {what}")


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a namespace by their names: the same object for as long as they are the same."""

    by_name: Mapping[str, str]


NO_TEXTS = Texts({})
_FolderStamp = tuple[int, int]


class NameTable:
    """Names of one store. Writes happen under the store's lock; reads need none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listed: dict[Path, tuple[Stamp, AffixRecord | None]] = {}
        self._texts: tuple[_FolderStamp | None, Mapping[str, Texts]] = (None, {})

    def register(self, name: str, text: str, namespace: str, source: str | None = None) -> AffixRecord:
        """Point `name` at `text`; the same text again changes nothing. `source` None leaves it as it was.

        Raises `InputError`, `StoreReadOnlyError`, `StoreFullError` or `StoreUnavailableError`.
        """
        name, namespace = check_name(name), check_name(namespace, "namespace")
        text = normalise_text(text)
        path = self._path(name, namespace)
        with self._store.exclusive():
            now_s = time.time()
            old = self._read(path)
            kept = source if source is not None else old.source if old else ""
            if old is not None and (old.text, old.source) == (text, kept):
                return old
            record = AffixRecord(
                name=name,
                text=text,
                text_digest=self.text_digest(text, namespace),
                namespace=namespace,
                created_s=old.created_s if old else now_s,
                updated_s=now_s,
                source=kept,
            )
            self._store.write_atomic(path, self._store.seal(path.stem, json.dumps(asdict(record)).encode()))
        return record

    def find(self, name: str, namespace: str) -> AffixRecord | None:
        """The record of `name`, or None; reads one file. Raises `InputError`."""
        return self._read(self._path(check_name(name), check_name(namespace, "namespace")))

    def lookup(self, name: str, namespace: str) -> AffixRecord:
        """The record of `name`. Raises `UnknownAffixError` with the closest names, or `InputError`."""
        record = self.find(name, namespace)
        if record is None:
            raise self._unknown(check_name(name), namespace)
        return record

    def names(self, namespace: str) -> tuple[AffixRecord, ...]:
        """All records of a namespace, sorted by name."""
        namespace = check_name(namespace, "namespace")
        mine = (record for record in self._records() if record.namespace == namespace)
        return tuple(sorted(mine, key=lambda record: record.name))

    def texts(self, namespace: str) -> Texts:
        """As `names`, to be asked often: the folder is listed only when a file came, went or was replaced.

        So what was registered before, by whatever process, is seen. Raises `StoreUnavailableError` for a
        folder that is gone.
        """
        namespace = check_name(namespace, "namespace")
        stamp = self._folder_stamp()  # before it is listed: a change in between makes it another one
        known, texts = self._texts
        if stamp is None or stamp != known:
            texts = self._list_texts(texts)
            self._texts = (stamp, texts)
        return texts.get(namespace, NO_TEXTS)

    def text_digests(self) -> set[str]:
        """The `AffixRecord.text_digest` of every name of every namespace."""
        return {record.text_digest for record in self._records()}

    def check(self) -> tuple[int, list[str]]:
        """The number of names that can be read, and the files of those that cannot, now quarantined."""
        intact = 0
        lost: list[str] = []
        for path in sorted(self._store.names.glob("*.json")):
            try:
                intact += self._parse(path) is not None  # forgotten meanwhile
            except StoreDamagedError:
                self._read(path)
                lost.append(path.stem)
        return intact, lost

    def _records(self) -> Iterator[AffixRecord]:
        """Those of all namespaces, in no order."""
        records = (self._read_once(path) for path in self._store.names.glob("*.json"))
        return (record for record in records if record is not None)

    def _list_texts(self, known: Mapping[str, Texts]) -> dict[str, Texts]:
        """By namespace; the `known` ones where they still hold."""
        found: dict[str, dict[str, str]] = {}
        for record in sorted(self._records(), key=lambda record: record.name):
            found.setdefault(record.namespace, {})[record.name] = record.text
        old = {namespace: known.get(namespace, NO_TEXTS) for namespace in found}
        return {name: old[name] if old[name].by_name == own else Texts(own) for name, own in found.items()}

    def _folder_stamp(self) -> _FolderStamp | None:
        """Another one after every file that came, went or was replaced (POSIX); None: who knows, look.

        A change right after another may get the same time, so one that is not `SETTLED_NS` old tells nothing.
        On network file systems it is another machine's, and may be an old copy. Nobody can set a ctime.
        """
        with self._store.translated():
            status = os.stat(self._store.names)
        settled = time.time_ns() - status.st_ctime_ns >= SETTLED_NS
        return (status.st_ino, status.st_ctime_ns) if settled and not self._store.network else None

    def _read_once(self, path: Path) -> AffixRecord | None:
        """`_read`, but a file that did not change since the last listing is not read again."""
        try:
            stamp = stamp_of(path)
        except (OSError, StoreDamagedError):
            return self._read(path)
        known = self._listed.get(path)
        if known is None or known[0] != stamp:
            known = self._listed[path] = (stamp, self._read(path))
        return known[1]

    def remove(self, name: str, namespace: str) -> AffixRecord:
        """Forget `name`. Raises as `lookup` and `register` do."""
        with self._store.exclusive():
            record = self.lookup(name, namespace)
            self._path(record.name, record.namespace).unlink()
            sync_folder(self._store.names)
        return record

    def text_digest(self, text: str, namespace: str) -> str:
        """Digest of a normalised text, private to store and namespace."""
        return self._store.private_digest("text", namespace, text)

    def _path(self, name: str, namespace: str) -> Path:
        return self._store.names / f"{self._store.private_digest('name', namespace, name)}.json"

    def _read(self, path: Path) -> AffixRecord | None:
        """The record in a file, or None; a damaged one is set aside."""
        try:
            return self._parse(path)
        except StoreDamagedError as error:
            _log.warning("damaged name: %s", error)
        if self._store.read_only:
            return None
        with self._store.exclusive():
            try:
                return self._parse(path)  # somebody may have registered it anew meanwhile
            except StoreDamagedError:
                self._store.set_aside(path)
                return None

    def _parse(self, path: Path) -> AffixRecord | None:
        with self._store.translated():
            try:
                stamp_of(path)
                data = self._store.unseal(path.stem, path.read_bytes())
            except FileNotFoundError:
                return None
        try:
            record = AffixRecord(**json.loads(data))
            intact = record.text_digest == self.text_digest(record.text, record.namespace)
            in_place = path == self._path(record.name, record.namespace)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreDamagedError(f"{path.name} is unreadable ({error}).") from error
        if not (intact and in_place):
            raise StoreDamagedError(f"{path.name} holds another name or a text that was changed.")
        return record

    def _unknown(self, name: str, namespace: str) -> UnknownAffixError:
        known = [record.name for record in self.names(namespace)]
        close = difflib.get_close_matches(name, known, n=_CLOSE_NAMES)
        hint = f"did you mean {', '.join(map(repr, close))}?" if close else "register it first."
        where = "" if namespace == "default" else f" in namespace {namespace!r}"
        return UnknownAffixError(f"no affix is called {name!r}{where}; {hint}")


def _encodable(text: str, what: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} is no Unicode text at character {error.start}; decode it as UTF-8."
        ) from error
    return text
