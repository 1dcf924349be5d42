"""Exact cosine search over rows of float32 vectors, on FAISS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import faiss
import numpy as np

from ragcache.errors import ConfigError, StoreDamagedError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Matrix = NDArray[np.float32]

# Scores of equal vectors differ in the last bits with the row they stand in; six decimals make them ties.
_SCORE_DECIMALS = 6


class CosineIndex:
    """Rows keep the order they were added in. The dimension is set by the first rows added."""

    def __init__(self) -> None:
        self._flat = faiss.IndexFlatIP(0)

    def __len__(self) -> int:
        return int(self._flat.ntotal)

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while nothing has been added."""
        return int(self._flat.d)

    def add(self, vectors: ArrayLike) -> None:
        """Append vectors of shape (rows, dimension).

        Raises ConfigError on another dimension, NaN or infinity; nothing is added then.
        """
        matrix = _unit_rows(vectors)
        if not len(self):
            self._flat = faiss.IndexFlatIP(matrix.shape[1])
        self._check_dimension(matrix)
        self._flat.add(matrix)

    def remove(self, rows: Sequence[int]) -> None:
        """Drop rows; the later ones move up."""
        if rows:
            self._flat.remove_ids(faiss.IDSelectorBatch(np.asarray(rows, dtype=np.int64)))

    def search(self, vector: ArrayLike) -> tuple[list[int], list[float]]:
        """All rows and their cosines, best first, equal ones in row order.

        Raises ConfigError if the vector has another dimension, NaN or infinity.
        """
        if not len(self):
            return [], []
        query = _unit_rows(np.asarray(vector)[None])
        self._check_dimension(query)
        scores, rows = self._flat.search(query, len(self))
        rounded = np.round(scores[0].astype(np.float64), _SCORE_DECIMALS)
        order = np.lexsort((rows[0], -rounded))
        return rows[0][order].tolist(), rounded[order].tolist()

    def vectors(self, rows: Sequence[int]) -> Matrix:
        """The unit vectors of some rows: shape (rows, dimension)."""
        found: Matrix = self._flat.reconstruct_batch(np.asarray(rows, dtype=np.int64))
        return found

    def to_bytes(self) -> bytes:
        """The FAISS file format."""
        return bytes(faiss.serialize_index(self._flat))

    @classmethod
    def from_bytes(cls, data: bytes) -> CosineIndex:
        """Read `to_bytes` back. Check a digest first: FAISS trusts what it reads.

        Raises StoreDamagedError.
        """
        try:
            flat = faiss.deserialize_index(np.frombuffer(data, dtype=np.uint8))
        except RuntimeError as error:
            raise StoreDamagedError("The FAISS index cannot be read. Build it again.") from error
        if not isinstance(flat, faiss.IndexFlatIP):
            raise StoreDamagedError(
                f"The FAISS index is a {type(flat).__name__}, not an IndexFlatIP. Build it again."
            )
        index = cls()
        index._flat = flat
        return index

    def __getstate__(self) -> bytes:
        return self.to_bytes()

    def __setstate__(self, data: bytes) -> None:
        self._flat = self.from_bytes(data)._flat

    def _check_dimension(self, matrix: Matrix) -> None:
        if matrix.shape[1] != self.dimension:
            raise ConfigError(
                f"A vector has {matrix.shape[1]} dimensions, the index {self.dimension}. "
                "Use the embeddings the index was built with, or build it again."
            )


def _unit_rows(vectors: ArrayLike) -> Matrix:
    """Rows scaled to length 1, so that an inner product is a cosine; a row of zeros stays."""
    try:
        matrix = np.array(vectors, dtype=np.float32)
    except ValueError as error:
        raise ConfigError("The embeddings gave vectors of different lengths, or not of numbers.") from error
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise ConfigError(
            "The embeddings gave an empty vector, one with NaN or infinity, or no list of vectors."
        )
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.ascontiguousarray(matrix / np.where(lengths == 0, 1, lengths), dtype=np.float32)
