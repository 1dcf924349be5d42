"""A file system of fsspec's that does what a test tells it to: hang, fail, cut, swap."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

from fsspec import AbstractFileSystem


class FakeRemote(AbstractFileSystem):  # type: ignore[misc]
    """`fake://`. Objects are in `objects`; `before(what, path)` runs ahead of every call."""

    protocol = "fake"
    cachable = False
    objects: ClassVar[dict[str, bytes]] = {}
    calls: ClassVar[list[tuple[str, str, int]]] = []
    release = threading.Event()
    before: ClassVar[Callable[[str, str], None]] = staticmethod(lambda what, path: None)

    @classmethod
    def reset(cls) -> None:
        """As new."""
        cls.objects.clear()
        cls.calls.clear()
        cls.release = threading.Event()
        cls.before = staticmethod(lambda what, path: None)

    @classmethod
    def pages(cls) -> list[str]:
        """Paths of the page objects."""
        return [path for path in cls.objects if "/pages/" in path]

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        path = self._strip_protocol(path)
        self.calls.append(("read", path, (end or 0) - (start or 0)))
        self.before("read", path)
        if path not in self.objects:
            raise FileNotFoundError(path)
        return self.objects[path][start:end]

    def exists(self, path: str, **_: Any) -> bool:
        return self._strip_protocol(path) in self.objects

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        path = self._strip_protocol(path)
        self.calls.append(("write", path, len(value)))
        self.before("write", path)
        if path in self.objects and mode == "create":
            raise FileExistsError(path)
        self.objects[path] = bytes(value)

    def find(self, path: str, *_: Any, **__: Any) -> dict[str, dict[str, Any]]:
        path = self._strip_protocol(path)
        self.calls.append(("list", path, 0))
        self.before("list", path)
        return {name: {"size": len(data)} for name, data in self.objects.items() if name.startswith(path)}

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        raise FileNotFoundError(path)
