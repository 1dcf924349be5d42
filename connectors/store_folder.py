"""A folder of files under one manifest: each file's digest is checked before anything reads it.

Files carry their digest in their name and the manifest is replaced last, so a save that is cut short leaves
the former state whole. Digests find damage and mixed-up files; they are no signature.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from ragcache.durable import replace_file
from ragcache.errors import (
    StoreDamagedError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
    StoreVersionError,
)

MANIFEST = "manifest.json"
_FORMAT = 1


def save_folder(folder: Path, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> None:
    """Replace what `folder` holds with `files` (keys like "index.faiss") and JSON `facts` about them.

    Raises StoreFullError, StoreReadOnlyError or StoreUnavailableError; the former state then stays.
    """
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = json.dumps({"format": _FORMAT, "files": digests, **facts}, indent=2, ensure_ascii=False)
    with _typed_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            former = _former_files(folder)
            for name, data in files.items():
                replace_file(folder / _stored_name(name, digests[name]), [data])
            replace_file(folder / MANIFEST, [manifest.encode()])
            for path in former - {folder / _stored_name(*item) for item in digests.items()}:
                path.unlink(missing_ok=True)


def load_folder(folder: Path, names: tuple[str, ...]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of `names` and the facts saved with them.

    Raises StoreUnavailableError if nothing was saved there, StoreVersionError if a newer format was, and
    StoreDamagedError if the manifest or a file is missing, changed or cut short.
    """
    with _typed_errors(folder):
        try:
            raw = (folder / MANIFEST).read_bytes()
        except FileNotFoundError as error:
            raise StoreUnavailableError(
                f"{folder} holds no {MANIFEST}: nothing was saved there. Check the path, or save first."
            ) from error
        manifest = _parse(raw, folder)
        return {name: _verified(folder, name, manifest["files"].get(name)) for name in names}, manifest


def _stored_name(name: str, digest: str) -> str:
    stem, _, suffix = name.rpartition(".")
    return f"{stem}-{digest[:16]}.{suffix}"


def _former_files(folder: Path) -> set[Path]:
    """The files an earlier save left; none if its manifest cannot be read."""
    try:
        files = _parse((folder / MANIFEST).read_bytes(), folder)["files"]
    except (FileNotFoundError, StoreDamagedError, StoreVersionError):
        return set()
    return {folder / _stored_name(name, digest) for name, digest in files.items()}


def _parse(raw: bytes, folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(raw)
    except ValueError as error:
        raise _damaged(folder, f"{MANIFEST} is not JSON") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise _damaged(folder, f"{MANIFEST} has no format number")
    if manifest["format"] > _FORMAT:
        raise StoreVersionError(
            f"{folder} was written in format {manifest['format']}, this version reads up to {_FORMAT}. "
            "Run: pip install --upgrade ragcache-dllm"
        )
    files = manifest.get("files")
    if not isinstance(files, dict) or not all(map(_is_file_entry, files.items())):
        raise _damaged(folder, f"{MANIFEST} lists no files")
    return manifest


def _is_file_entry(entry: tuple[str, Any]) -> bool:
    """A plain name and a SHA-256 in hex; a name with a path in it could point outside the folder."""
    name, digest = entry
    is_digest = isinstance(digest, str) and len(digest) == 64 and set(digest) <= set("0123456789abcdef")
    return is_digest and bool(name) and name == os.path.basename(name)


def _verified(folder: Path, name: str, digest: str | None) -> bytes:
    if digest is None:
        raise _damaged(folder, f"{MANIFEST} does not list {name}")
    stored = _stored_name(name, digest)
    try:
        data = (folder / stored).read_bytes()
    except FileNotFoundError as error:
        raise _damaged(folder, f"{stored} is missing") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise _damaged(folder, f"{stored} was changed or cut short: its digest is not the one in {MANIFEST}")
    return data


def _damaged(folder: Path, what: str) -> StoreDamagedError:
    return StoreDamagedError(f"{folder}: {what}. Build the store again and save it.")


@contextmanager
def _typed_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError(
                f"{folder}: no room left on the disk. Free some, or save elsewhere."
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StoreReadOnlyError(f"{folder}: permission denied ({error}). Use another folder.") from error
        raise StoreUnavailableError(f"{folder} cannot be used ({error}). Check the path.") from error
