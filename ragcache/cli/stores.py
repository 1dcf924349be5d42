"""Opening the store that a command works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragcache.errors import RegistryError
from ragcache.registry import DEFAULT_NAMESPACE, Registry
from ragcache.registry.location import default_folder


@dataclass(frozen=True)
class StoreChoice:
    """What the options say of the store: folder, remote, whose names, and which may be shared ones."""

    folder: Path | None
    remote: str | None = None
    namespace: str = DEFAULT_NAMESPACE
    shared: Sequence[str] = ()

    def open(self) -> Registry:
        """See `open_registry`."""
        return open_registry(self.folder, self.remote)


def store_folder(given: Path | None) -> Path:
    """The folder that was given, or the default one in the user's cache."""
    return default_folder() if given is None else given


def open_registry(given: Path | None, remote: str | None = None) -> Registry:
    """The registry in `store_folder(given)`; errors say which option names the folder."""
    try:
        return Registry(store_folder(given), remote=remote)
    except RegistryError as error:
        raise type(error)(f"--store: {error}") from error
