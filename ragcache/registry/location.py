"""Where a store lies that nobody chose a place for."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_dir


def default_folder() -> Path:
    """The store's folder in the user's cache."""
    return Path(user_cache_dir("ragcache")) / "store"
