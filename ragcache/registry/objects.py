"""Objects of a shared store, by way of fsspec: read by range, created once, never removed."""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ragcache.errors import ConfigError, MissingDependencyError, StoreUnavailableError
from ragcache.registry.breaker import CircuitBreaker, DeadlineCaller

T = TypeVar("T")
_LISTING_S = 30.0


class ObjectStore:
    """Objects below `url`. Every call is bounded by `timeout_s` and the size at `floor_bytes_s`.

    Raises `ConfigError` for a URL without a known protocol, `MissingDependencyError` when the protocol
    needs a package. Nothing is connected before the first call.
    """

    def __init__(self, url: str, timeout_s: float, floor_bytes_s: float, breaker: CircuitBreaker) -> None:
        _check_protocol(url)
        self.label = re.sub(r"//[^/@]*@", "//", url.split("?")[0])  # for messages: no password
        self._url = url
        self._timeout_s, self._floor_bytes_s = timeout_s, floor_bytes_s
        self._breaker, self._caller = breaker, DeadlineCaller()
        self._opening = threading.Lock()
        self._opened: tuple[Any, str] | None = None

    def read(self, name: str, start: int, end: int) -> bytes | None:
        """Bytes `start` to `end` of an object, fewer where it is shorter; None when there is no such object.

        Raises `StoreUnavailableError`.
        """

        def work() -> bytes | None:
            filesystem, root = self._filesystem()
            try:
                return bytes(filesystem.cat_file(f"{root}/{name}", start=start, end=end))
            except FileNotFoundError:
                return None

        return self._call(work, end - start)

    def create(self, name: str, data: bytes, *, replace: bool = False) -> bool:
        """Create an object, whole or not at all; False when there is one and it is not to `replace`.

        Raises `StoreUnavailableError`.
        """

        def work() -> bool:
            filesystem, root = self._filesystem()
            if _is_local(filesystem):
                return _create_file(Path(root) / name, data, replace)
            return _create_object(filesystem, f"{root}/{name}", data, replace)

        return self._call(work, len(data))

    def sizes(self, folder: str) -> list[int]:
        """Bytes of every object below `folder`, which is listed whole. Raises `StoreUnavailableError`."""

        def work() -> list[int]:
            filesystem, root = self._filesystem()
            try:
                found = filesystem.find(f"{root}/{folder}", detail=True)
            except FileNotFoundError:
                return []
            return [int(entry.get("size") or 0) for entry in found.values()]

        return self._call(work, int(_LISTING_S * self._floor_bytes_s))  # so much longer than a small read

    def _call(self, work: Callable[[], T], size_bytes: int) -> T:
        if not self._breaker.allows():
            raise StoreUnavailableError(f"{self.label} failed repeatedly and is left alone for a while.")
        try:
            result = self._caller.call(work, self._timeout_s + size_bytes / self._floor_bytes_s)
        except Exception as error:  # whatever a file system of fsspec's may raise
            self._breaker.failed()
            raise StoreUnavailableError(
                f"{self.label} does not respond ({type(error).__name__}: {error}); check the address and "
                "the network."
            ) from error
        self._breaker.succeeded()
        return result

    def _filesystem(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs

        with self._opening:
            if self._opened is None:
                filesystem, root = url_to_fs(self._url)
                self._opened = filesystem, root.rstrip("/")
            return self._opened


def _check_protocol(url: str) -> None:
    import fsspec

    protocol, mark, _ = url.partition("://")
    if not mark or "::" in url:
        raise ConfigError(
            f"the remote {url!r} is no address; write it as file:///folder or s3://bucket/folder."
        )
    try:
        fsspec.get_filesystem_class(protocol)
    except ValueError as error:
        raise ConfigError(f"the remote's protocol {protocol!r} is unknown to fsspec ({error}).") from error
    except ImportError as error:
        raise MissingDependencyError(f"the remote {protocol}://: {error}") from error


def _is_local(filesystem: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(filesystem, LocalFileSystem)


def _create_file(path: Path, data: bytes, replace: bool) -> bool:
    """Atomic where the disk knows hard links, as nearly all do."""
    if not replace and os.path.lexists(path):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(temporary, path)  # a link there is replaced, not followed
            return True
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:  # no hard links here: only a race of equal objects is lost
            os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return True


def _create_object(filesystem: Any, path: str, data: bytes, replace: bool) -> bool:
    if not replace and filesystem.exists(path):  # not every file system heeds `mode`
        return False
    mode = "overwrite" if replace else "create"
    try:
        filesystem.pipe_file(path, data, mode=mode)
    except FileExistsError:
        return False
    except FileNotFoundError:
        filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        filesystem.pipe_file(path, data, mode=mode)
    return True
