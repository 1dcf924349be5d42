"""Opening the store that a command works on."""

from __future__ import annotations

from pathlib import Path

from ragcache.errors import RegistryError
from ragcache.registry import Registry


def store_folder(given: Path | None) -> Path:
    """The folder that was given, or the default one in the user's cache."""
    if given is not None:
        return given
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("ragcache")) / "store"


def open_registry(given: Path | None) -> Registry:
    """The registry in `store_folder(given)`; errors say which option names the folder."""
    try:
        return Registry(store_folder(given))
    except RegistryError as error:
        raise type(error)(f"--store: {error}") from error
