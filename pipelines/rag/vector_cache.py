"""Chunk vectors on disk, so that a second run over the same documents embeds only the question."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragcache.durable import replace_file

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_log = logging.getLogger(__name__)

# 50 000 vectors of 384 dimensions take 77 MB; the oldest go first.
_MAX_ROWS = 50_000
_DIGEST_BYTES = 32


class VectorCache:
    """One `.npz` file per embedding model, read once and replaced as a whole.

    `keys` (rows, 32) uint8 are the SHA-256 of texts, `vectors` (rows, dimension) float32. A damaged file
    counts as empty and sets `was_damaged`. Nothing here raises for a bad file or disk: a cache only saves
    time.
    """

    def __init__(self, folder: Path, model: str, *, max_rows: int = _MAX_ROWS) -> None:
        self.path = folder / f"vectors-{hashlib.sha256(model.encode()).hexdigest()[:16]}.npz"
        self.was_damaged = False
        self._max_rows = max_rows
        self._keys, self._vectors = self._read()

    def find(self, texts: Sequence[str]) -> dict[str, list[float]]:
        """The vectors of those `texts` that are kept."""
        rows = {key.tobytes(): row for row, key in enumerate(self._keys)}
        found = ((text, rows.get(_digest(text))) for text in texts)
        return {text: self._vectors[row].tolist() for text, row in found if row is not None}

    def add(self, fresh: Mapping[str, ArrayLike]) -> None:
        """Keep the vectors of more texts, in front of the former ones, and write the file."""
        keys = np.stack([np.frombuffer(_digest(text), dtype=np.uint8) for text in fresh])
        vectors = np.array(list(fresh.values()), dtype=np.float32)
        if self._vectors.shape[1] == vectors.shape[1]:
            keys = np.concatenate([keys, self._keys])
            vectors = np.concatenate([vectors, self._vectors])
        self._keys, self._vectors = keys[: self._max_rows], vectors[: self._max_rows]
        file = io.BytesIO()
        np.savez(file, keys=self._keys, vectors=self._vectors)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, [file.getvalue()])
        except OSError as error:
            _log.warning("Vectors are not cached: %s cannot be written (%s)", self.path, error)

    def _read(self) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        try:
            with np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False) as data:
                keys, vectors = data["keys"], data["vectors"]
            _check(keys, vectors)
            return keys, vectors
        except FileNotFoundError:
            pass
        except Exception as error:  # a damaged file makes numpy and zipfile raise almost anything
            self.was_damaged = True
            _log.info("%s is damaged and will be rebuilt (%s)", self.path, error)
        return np.empty((0, _DIGEST_BYTES), dtype=np.uint8), np.empty((0, 0), dtype=np.float32)


def _check(keys: NDArray[np.uint8], vectors: NDArray[np.float32]) -> None:
    if keys.dtype != np.uint8 or vectors.dtype != np.float32 or vectors.ndim != 2:
        raise ValueError("wrong types")
    if keys.shape != (len(vectors), _DIGEST_BYTES) or not np.isfinite(vectors).all():
        raise ValueError("wrong shape or values")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
