"""The documents that a batch of questions is about: found by name, or by the question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ragcache.connectors.embedder import Embedder
from ragcache.errors import DocumentError
from ragcache.pipelines.rag.chunks import Chunk, chunk
from ragcache.pipelines.rag.documents import Document
from ragcache.pipelines.rag.index import DocumentIndex
from ragcache.prompt import Affix


class Library:
    """Documents cut into chunks, every chunk an affix. The index for retrieval is built when first needed."""

    def __init__(self, documents: Sequence[Document], embeddings: Embedder | None = None, *, top_k: int = 4):
        self.embeddings, self.top_k = embeddings, top_k
        self._chunks: dict[str, tuple[Chunk, ...]] = {d.name: chunk(d) for d in documents}

    def named(self, name: str) -> tuple[Affix, ...]:
        """All chunks of a document. Raises `DocumentError` for an unknown name."""
        if name not in self._chunks:
            known = f"there are {len(self._chunks)}" if self._chunks else "none were given; use --docs"
            raise DocumentError(f"no document is called {name!r} ({known})")
        return tuple(Affix(piece.name, piece.text) for piece in self._chunks[name])

    def nearest(self, question: str) -> tuple[Affix, ...]:
        """The `top_k` nearest chunks. Raises `DocumentError` when there is nothing to search."""
        if self._index is None:
            raise DocumentError("the line names no docs and there are no documents to search; use --docs")
        hits = self._index.search(question, self.top_k)
        return tuple(Affix(hit.chunk.name, hit.chunk.text) for hit in hits)

    @cached_property
    def _index(self) -> DocumentIndex | None:
        chunks = [piece for pieces in self._chunks.values() for piece in pieces]
        if not chunks or self.embeddings is None:
            return None
        return DocumentIndex.build(chunks, self.embeddings)
