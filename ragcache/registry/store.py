"""The store's folder: layout, permissions, version, secret, the lock, and files that appear whole or not.

store/            0700
  version.json    written last: a folder with it is a complete store
  secret          32 bytes; every digest in a file name is an HMAC under it or a key made from it
  lock            held by whoever changes anything
  index/          cache.db: rebuilt from the payloads when lost
  pages/          {digest}.safetensors, immutable
  names/          {digest}.json, one per registered name
  building/       one lock file per page being encoded, removed afterwards
  quarantine/     damaged files, for a look

In an encrypted store the secret, the names and the pages ({digest}.sealed) are sealed; the index holds sizes,
times and digests in the clear.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

from ragcache.durable import sync_folder
from ragcache.errors import (
    RegistryError,
    StoreDamagedError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
    StoreVersionError,
)
from ragcache.registry import store_version
from ragcache.registry.encryption import Cipher
from ragcache.registry.filesystem import network_filesystem

SECRET_BYTES = 32
QUARANTINE_KEEP = 8
LOCK_TIMEOUT_S = 120.0
_FOLDERS = ("index", "pages", "names", "building", "quarantine")
_FILES = ("version.json", "secret", "lock")
_GUESTS = ("vectors",)  # embeddings that `ragcache ask` keeps beside the pages
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


class Store:
    """An open store folder. Creates it when absent; several processes may do so at once.

    With a `cipher` the store is encrypted. `network` is the kind of network file system it lies on, if any.
    Raises `StoreUnavailableError`, `StoreVersionError`, `StoreKeyError` or `StoreDamagedError`.
    """

    def __init__(self, path: Path, cipher: Cipher | None = None) -> None:
        self.path = Path(os.path.abspath(os.path.expanduser(path)))
        self.cipher = cipher
        self.pages, self.names = self.path / "pages", self.path / "names"
        self.index, self.quarantine = self.path / "index", self.path / "quarantine"
        self._threads = threading.RLock()
        self._processes = FileLock(
            self.path / "lock", timeout=LOCK_TIMEOUT_S, mode=0o600, thread_local=False, poll_interval=0.01
        )
        _make_folder(self.path)
        _check_private(self.path)
        self.network = network_filesystem(self.path)
        self.read_only = not os.access(self.path, os.W_OK | os.X_OK)
        if self.read_only:
            if not (self.path / "version.json").exists():
                raise StoreUnavailableError(
                    f"{self.path} is not a store and cannot be written to; choose another folder."
                )
        else:
            with self.exclusive():
                self._complete()
        self._check_version()
        self._secret = self._read_secret()

    def page_path(self, digest: str) -> Path:
        """Where the page of `digest` lies or would lie."""
        return self.pages / f"{digest}.{'sealed' if self.cipher else 'safetensors'}"

    @property
    def secret(self) -> bytes:
        """The store's secret; never leaves the process."""
        return self._secret

    def seal(self, name: str, data: bytes) -> bytes:
        """What to write for `data`; in an encrypted store bound to `name`."""
        return self.cipher.seal_whole(name, data) if self.cipher else data

    def unseal(self, name: str, data: bytes) -> bytes:
        """What `seal` was given. Raises `StoreDamagedError`."""
        return self.cipher.open_whole(name, data) if self.cipher else data

    def private_digest(self, *parts: str) -> str:
        """64 hex digits that mean nothing to who does not have the secret."""
        return hmac.new(self._secret, json.dumps(parts).encode(), hashlib.sha256).hexdigest()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the store's lock against all threads and processes; may be nested.

        Raises `StoreReadOnlyError` when nothing may be changed; OSError inside becomes that,
        `StoreFullError` or `StoreUnavailableError`.
        """
        if self.read_only:
            raise StoreReadOnlyError(f"{self.path} cannot be written to; check its permissions and its disk.")
        with self.translated(), self._threads, self._processes:
            yield

    @contextmanager
    def building(self, digest: str) -> Iterator[None]:
        """Hold the lock of one page. Without effect in a store that is read only."""
        if self.read_only:
            yield
            return
        path = self.path / "building" / digest
        lock = FileLock(path, mode=0o600, poll_interval=0.01)
        with self.translated():
            lock.acquire()
        try:
            yield
        finally:
            # Removed while held: who waits on this file finds it gone and takes a new one.
            with suppress(OSError):
                path.unlink()
            lock.release()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn OSError into a `RegistryError` that says what to do."""
        try:
            yield
        except OSError as error:
            raise self._error(error) from error

    def write_atomic(self, path: Path, data: bytes) -> None:
        """Replace `path` by a file of `data`, whole and on the disk when this returns. Raises OSError."""
        temporary = path.with_name(f"{path.name}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)

    def set_aside(self, path: Path) -> None:
        """Move a damaged file into quarantine, which keeps the newest few. Raises OSError."""
        target = self.quarantine / f"{secrets.token_hex(4)}-{path.name}"
        os.rename(path, target)
        os.utime(target, follow_symlinks=False)
        kept = sorted(self.quarantine.iterdir(), key=lambda entry: entry.lstat().st_mtime_ns)
        for old in kept[:-QUARANTINE_KEEP]:
            old.unlink()

    def _complete(self) -> None:
        found = {entry.name for entry in self.path.iterdir()}
        if "version.json" not in found:
            foreign = found - {*_FOLDERS, *_FILES, *_GUESTS, *(f"{name}.tmp" for name in _FILES)}
            if foreign:
                raise StoreUnavailableError(
                    f"{self.path} holds other files ({sorted(foreign)[0]}); choose an empty folder."
                )
            if "secret" not in found:
                self.write_atomic(
                    self.path / "secret", self.seal("secret", secrets.token_bytes(SECRET_BYTES))
                )
        for name in _FOLDERS:
            _make_folder(self.path / name)
            _check_private(self.path / name)
        if "version.json" not in found:
            self.write_atomic(self.path / "version.json", store_version.describe(self.cipher))

    def _check_version(self) -> None:
        path = self.path / "version.json"
        try:
            version = json.loads(path.read_bytes())
            newer = version["format"] > store_version.NEWEST
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreDamagedError(
                f"{path} is unreadable ({error}); restore it, or delete the store folder to start anew."
            ) from error
        if newer:
            raise StoreVersionError(
                f"{self.path} has format {version['format']}, this ragcache reads up to "
                f"{store_version.NEWEST}; update ragcache or choose another folder."
            )
        store_version.check_key(self.path, version, self.cipher)

    def _read_secret(self) -> bytes:
        path = self.path / "secret"
        with self.translated():
            secret = path.read_bytes() if path.is_file() else b""
        with suppress(StoreDamagedError):
            secret = self.unseal("secret", secret)
        if len(secret) != SECRET_BYTES:
            raise StoreDamagedError(
                f"{path} is lost or damaged, so the pages beside it cannot be found; "
                "restore it, or delete the store folder to start anew."
            )
        return secret

    def _error(self, error: OSError) -> RegistryError:
        if error.errno in _FULL:
            return StoreFullError(f"no room left on the disk of {self.path}; free some, or lower the limit.")
        if error.errno in _READ_ONLY:
            return StoreReadOnlyError(f"{self.path} cannot be written to ({error}); check its permissions.")
        return StoreUnavailableError(f"{self.path} does not respond ({error}); try again, or check the disk.")


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise StoreUnavailableError(f"cannot create the store folder {path}: {error}.") from error


def _check_private(path: Path) -> None:
    status = path.stat()
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreUnavailableError(f"others may write to {path}; run: chmod 700 {path}")
    if status.st_uid not in (0, os.geteuid()):
        raise StoreUnavailableError(f"{path} belongs to another user; choose a folder of your own.")
