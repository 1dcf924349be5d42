"""Text embeddings for LangChain: MiniLM without any download, or a sentence-transformers model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from langchain_core.embeddings import Embeddings

from ragcache.connectors.embedder import Embedder, Encoder, LazyEmbedder, MiniLMEmbedder, embedding_name
from ragcache.errors import MissingDependencyError, UnknownModelError

if TYPE_CHECKING:
    from ragcache.connectors.embedder import Matrix

__all__ = [
    "Embedder",
    "Encoder",
    "LazyEmbeddings",
    "MiniLMEmbeddings",
    "SentenceTransformerEmbeddings",
    "embedding_name",
    "embeddings_for",
]


class LazyEmbeddings(LazyEmbedder, Embeddings):
    """Base of the embeddings here: a lazy embedder that LangChain accepts."""


class MiniLMEmbeddings(MiniLMEmbedder, LazyEmbeddings):
    """`MiniLMEmbedder` for LangChain."""


class SentenceTransformerEmbeddings(LazyEmbeddings):
    """Any sentence-transformers model, by hub id or folder.

    Such a model truncates texts at its own `max_seq_length`. Raises on first use: MissingDependencyError
    if sentence-transformers is not installed, UnknownModelError if there is no such model.
    """

    def _load(self) -> Encoder:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingDependencyError(
                f"The embedding model {self.model_name!r} needs sentence-transformers. "
                "Run: pip install 'ragcache-dllm[sentence-transformers]'"
            ) from error
        try:
            model = SentenceTransformer(self.model_name, device=self.device)
        except (OSError, ValueError) as error:
            raise UnknownModelError(
                f"No embedding model {self.model_name!r} could be loaded ({error}). "
                "Check the name or folder, and the network if it has to be downloaded."
            ) from error
        return _SentenceTransformerEncoder(model, self.batch_size)


class _SentenceTransformerEncoder:
    """Adapts a SentenceTransformer (untyped here) to Encoder."""

    def __init__(self, model: SentenceTransformerModel, batch_size: int) -> None:
        self._model = model
        self._batch_size = batch_size

    def encode(self, texts: Sequence[str], *, is_query: bool) -> Matrix:
        prompt = "query" if is_query and "query" in self._model.prompts else None
        return self._model.encode(
            list(texts),
            prompt_name=prompt,
            batch_size=self._batch_size,
            normalize_embeddings=True,
            show_progress_bar=False,
        )


class SentenceTransformerModel(Protocol):
    """The part of sentence_transformers.SentenceTransformer used here."""

    prompts: dict[str, str]

    def encode(
        self,
        sentences: list[str],
        *,
        prompt_name: str | None,
        batch_size: int,
        normalize_embeddings: bool,
        show_progress_bar: bool,
    ) -> Matrix: ...


def embeddings_for(model_name: str | None = None) -> LazyEmbeddings:
    """The embeddings of a model name: MiniLM (offline) for None or "minilm", else sentence-transformers."""
    if model_name is None or model_name.lower() == "minilm":
        return MiniLMEmbeddings()
    return SentenceTransformerEmbeddings(model_name)
