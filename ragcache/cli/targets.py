"""Files that a command writes at its end, tried at its start: an hour of work must not end in a bad path."""

from __future__ import annotations

import os
from pathlib import Path

from ragcache.errors import ConfigError


def check_target(option: str, path: Path | None) -> None:
    """Raise `ConfigError` when `path` cannot be written. Nothing but an attempt tells; it leaves no trace."""
    if path is None:
        return
    if os.path.isdir(path):  # unlike pathlib, os.path takes unusable paths for absent ones
        raise ConfigError(f"{option} {path}: a folder; name a file")
    if not os.path.isdir(path.absolute().parent):
        raise ConfigError(f"{option} {path}: there is no folder {path.absolute().parent}; make it first")
    try:
        existed = os.path.exists(path)
        path.open("ab").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise _unwritable(option, path, error) from error


def write_text(option: str, path: Path, text: str) -> None:
    """Write UTF-8. Raises `ConfigError` naming the option."""
    try:
        # A file name that is no UTF-8 reaches us as lone surrogates, which HTML cannot hold.
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise _unwritable(option, path, error) from error


def _unwritable(option: str, path: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"{option} {path}: cannot be written ({error.strerror}); name a file in a folder of yours"
    )
