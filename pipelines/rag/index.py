"""Finding the chunks nearest to a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragcache.connectors.cosine_index import CosineIndex
from ragcache.connectors.embedder import Embedder, embedding_name
from ragcache.errors import ConfigError, EmptyQuestionError
from ragcache.pipelines.rag.chunks import Chunk
from ragcache.pipelines.rag.vector_cache import VectorCache


@dataclass(frozen=True)
class Hit:
    """A chunk and its cosine with the question, in [-1, 1]."""

    chunk: Chunk
    score: float


class DocumentIndex:
    """Chunks and their vectors in memory. `embedded` counts the texts that building it had to embed."""

    def __init__(
        self, chunks: Sequence[Chunk], index: CosineIndex, embeddings: Embedder, embedded: int
    ) -> None:
        """Use `build`. Row `n` of `index` belongs to `chunks[n]`."""
        self.chunks = tuple(chunks)
        self.embedded = embedded
        self._index = index
        self._embeddings = embeddings

    @classmethod
    def build(
        cls,
        chunks: Sequence[Chunk],
        embeddings: Embedder,
        cache: Path | None = None,
        former: DocumentIndex | None = None,
    ) -> DocumentIndex:
        """Embed the chunks whose text is not in the folder `cache` yet, and keep their vectors there.

        Texts that `former`, an index with the same embeddings, holds are not embedded either.

        Embeddings that do not say which model they are (no `model_name` or `model`) are never cached. A cache
        that is damaged is rebuilt, one that cannot be written is left alone; both are logged. Raises
        ConfigError if the embeddings give unusable vectors.
        """
        name = embedding_name(embeddings)
        store = VectorCache(cache, name) if cache is not None and name is not None else None
        texts = list(dict.fromkeys(chunk.text for chunk in chunks))  # equal texts must get equal vectors
        vectors = former.vectors() if former is not None else {}
        vectors |= store.find(texts) if store is not None else {}
        missing = [text for text in texts if text not in vectors]
        fresh = _embed(missing, embeddings)
        vectors.update(fresh)
        index = CosineIndex()
        if chunks:
            index.add([vectors[chunk.text] for chunk in chunks])
        if store is not None and fresh:
            store.add(fresh)
        return cls(chunks, index, embeddings, len(fresh))

    def vectors(self) -> dict[str, list[float]]:
        """The unit vector of every text."""
        if not self.chunks:
            return {}
        rows: list[list[float]] = self._index.vectors(range(len(self.chunks))).tolist()
        return {chunk.text: row for chunk, row in zip(self.chunks, rows, strict=True)}

    def search(self, question: str, k: int) -> tuple[Hit, ...]:
        """The `k` chunks nearest to the question (all, if there are fewer), equal ones in chunk order.

        Raises EmptyQuestionError if the question holds no text, ConfigError if k < 1.
        """
        if k < 1:
            raise ConfigError(f"top_k is {k}; ask for 1 chunk or more.")
        if not question.strip():
            raise EmptyQuestionError("The question holds no text. Ask something about the documents.")
        if not self.chunks:
            return ()
        rows, scores = self._index.search(self._embeddings.embed_query(question))
        return tuple(Hit(self.chunks[row], score) for row, score in zip(rows[:k], scores[:k], strict=True))


def _embed(texts: list[str], embeddings: Embedder) -> dict[str, list[float]]:
    vectors = embeddings.embed_documents(texts) if texts else []
    if len(vectors) != len(texts):
        raise ConfigError(f"The embeddings gave {len(vectors)} vectors for {len(texts)} texts.")
    return dict(zip(texts, vectors, strict=True))
