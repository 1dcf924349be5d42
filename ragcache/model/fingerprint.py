"""What identifies a checkpoint in affix keys, computed once for files that do not change."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import xxhash
from platformdirs import user_cache_path

from ragcache.durable import replace_file
from ragcache.model.config import ModelConfig
from ragcache.model.weights import weight_files

REMEMBERED_FROM_BYTES = 2**26  # smaller ones are hashed faster than a file is found
_PIECE = 1 << 22


def fingerprint(folder: Path, config: ModelConfig) -> str:
    """Architecture and weights as one hex digest (xxh3-128 over the files): part of every affix key."""
    files = weight_files(folder)
    note = _Note(folder, config, files)
    known = note.read()
    if known is not None:
        return known
    digest = xxhash.xxh3_128(config.canonical().encode())
    for path in files:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    note.write(digest.hexdigest())
    return digest.hexdigest()


def notes_folder() -> Path:
    """Where fingerprints are remembered; `RAGCACHE_FINGERPRINTS` overrides the user's cache folder."""
    chosen = os.environ.get("RAGCACHE_FINGERPRINTS")
    return Path(chosen) if chosen else user_cache_path("ragcache") / "fingerprints"


class _Note:
    """The fingerprint of one folder, valid while no weight file changes.

    Files are told by inode, size and both times; whoever writes to one changes its ctime.
    """

    def __init__(self, folder: Path, config: ModelConfig, files: Sequence[Path]) -> None:
        stats = [path.stat() for path in files]
        self.worth = sum(stat.st_size for stat in stats) >= REMEMBERED_FROM_BYTES
        self.state = [
            config.canonical(),
            *(
                [p.name, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns]
                for p, s in zip(files, stats, strict=True)
            ),
        ]
        name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()
        self.path = notes_folder() / f"{name}.json"

    def read(self) -> str | None:
        """The remembered fingerprint; None when there is none for these files as they are."""
        if not self.worth:
            return None
        try:
            if self.path.stat().st_uid != os.getuid():  # somebody else's word
                return None
            found = json.loads(self.path.read_text(encoding="utf-8"))
            known = found["fingerprint"] if found["files"] == self.state else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return known if isinstance(known, str) and len(known) == 32 else None

    def write(self, fingerprint: str) -> None:
        """Remember it; where that fails it is computed again."""
        if not self.worth:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self.path, [json.dumps({"fingerprint": fingerprint, "files": self.state}).encode()])
