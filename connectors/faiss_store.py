"""A LangChain vector store on FAISS that is saved as FAISS data and JSON, never as pickle."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from ragcache.connectors.cosine_index import CosineIndex
from ragcache.connectors.embeddings import embedding_name
from ragcache.connectors.store_folder import load_folder, save_folder
from ragcache.errors import ConfigError, DocumentError, StoreDamagedError

DocumentFilter = Callable[[Document], bool]

_INDEX, _DOCUMENTS = "index.faiss", "documents.json"


class AffixFAISS(VectorStore):
    """Exact cosine search in memory; scores lie in [-1, 1], higher is nearer, ties come in the order added.

    A document without an id gets one from its text and metadata, so adding it twice keeps one, and the same
    documents carry the same ids in every process. Metadata must be JSON. Safe to use from many threads.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._index = CosineIndex()
        self._ids: list[str] = []  # in the order of the index's rows
        self._documents: dict[str, Document] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """For copies, and chains that are sent to other processes. `save_local` writes none."""
        with self._lock:
            own = {"_index": copy(self._index), "_ids": [*self._ids], "_documents": {**self._documents}}
            return {"_embeddings": self._embeddings, **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def embeddings(self) -> Embeddings:
        return self._embeddings

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A store of `texts`; see `add_texts`."""
        store = cls(embedding)
        store.add_texts(texts, metadatas, ids=ids, **kwargs)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embed and add texts, replacing those whose id is there already; returns the ids.

        Raises ConfigError if the lengths differ, DocumentError if metadata is not JSON.
        """
        _refuse(kwargs)
        texts = list(texts)
        for what, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(texts):
                raise ConfigError(f"{len(texts)} texts but {len(values)} {what}; give one for each text.")
        given: Sequence[dict[str, Any]] = metadatas if metadatas is not None else [{} for _ in texts]
        wanted: Sequence[str | None] = ids if ids is not None else [None] * len(texts)
        documents = [_document(*item) for item in zip(texts, given, wanted, strict=True)]
        latest = {_id(document): document for document in documents}
        vectors = self._embeddings.embed_documents([document.page_content for document in latest.values()])
        if len(vectors) != len(latest):
            raise ConfigError(f"The embeddings gave {len(vectors)} vectors for {len(latest)} texts.")
        if not latest:
            return []
        with self._lock:
            self._index.add(vectors)  # first, for it may refuse them; `delete` sees only the former rows
            self.delete(list(latest))
            self._ids.extend(latest)
            self._documents.update(latest)
        return [_id(document) for document in documents]

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Drop the documents of `ids`, or all if None; unknown ids are passed over."""
        _refuse(kwargs)
        with self._lock:
            gone = set(self._ids if ids is None else ids)
            self._index.remove([row for row, name in enumerate(self._ids) if name in gone])
            self._ids = [name for name in self._ids if name not in gone]
            self._documents = {name: self._documents[name] for name in self._ids}
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of `ids`, in that order; unknown ids are passed over."""
        with self._lock:
            return [deepcopy(self._documents[name]) for name in ids if name in self._documents]

    def similarity_search(
        self, query: str, k: int = 4, *, filter: DocumentFilter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The `k` nearest documents that pass `filter`, nearest first. Raises ConfigError if k < 1."""
        found = self.similarity_search_with_score(query, k, filter=filter, **kwargs)
        return [document for document, _ in found]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: DocumentFilter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """As `similarity_search`, each with its cosine."""
        _refuse(kwargs)
        found = self._nearest(self._embeddings.embed_query(query), k, filter)
        return [(document, score) for document, score, _ in found]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: DocumentFilter | None = None, **kwargs: Any
    ) -> list[Document]:
        """As `similarity_search`, for a vector. Raises ConfigError also if its dimension is another."""
        _refuse(kwargs)
        return [document for document, _, _ in self._nearest(embedding, k, filter)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: DocumentFilter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """`k` of the `fetch_k` nearest: near the query (lambda_mult 1) or unlike each other (0)."""
        _refuse(kwargs)
        _check_k(k)
        vector = self._embeddings.embed_query(query)
        found = self._nearest(vector, max(k, fetch_k), filter)
        chosen = maximal_marginal_relevance(
            np.asarray(vector, dtype=np.float32), [unit for _, _, unit in found], lambda_mult, k
        )
        return [found[number][0] for number in chosen]

    def save_local(self, folder: str | Path) -> None:
        """Write the store to `folder`, replacing an earlier save in one step.

        Raises StoreFullError, StoreReadOnlyError or StoreUnavailableError.
        """
        with self._lock:
            documents = [
                {"id": name, "text": document.page_content, "metadata": document.metadata}
                for name, document in self._documents.items()
            ]
            files = {
                _INDEX: self._index.to_bytes(),
                _DOCUMENTS: json.dumps(documents, ensure_ascii=True).encode(),
            }
            facts = {"dimension": self._index.dimension, "embedding": embedding_name(self._embeddings)}
        save_folder(Path(folder), files, facts)

    @classmethod
    def load_local(cls, folder: str | Path, embeddings: Embeddings) -> Self:
        """Read what `save_local` wrote; `embeddings` must be the model it was built with.

        Raises StoreUnavailableError if nothing was saved there, StoreDamagedError if a file is missing,
        changed or cut short, StoreVersionError if the format is newer, ConfigError if another embedding model
        built it.
        """
        folder = Path(folder)
        files, facts = load_folder(folder, (_INDEX, _DOCUMENTS))
        built, given = facts.get("embedding"), embedding_name(embeddings)
        if built is not None and given is not None and built != given:
            raise ConfigError(
                f"{folder} was built with {built}, not with {given}. Pass the former, or rebuild."
            )
        store = cls(embeddings)
        store._index = CosineIndex.from_bytes(files[_INDEX])
        store._documents = _read_documents(files[_DOCUMENTS], folder)
        store._ids = list(store._documents)
        if len(store._index) != len(store._ids) or store._index.dimension != facts.get("dimension"):
            raise StoreDamagedError(f"{folder}: index and documents do not belong together. Build it again.")
        return store

    def _nearest(
        self, vector: list[float], k: int, keep: DocumentFilter | None
    ) -> list[tuple[Document, float, Any]]:
        """Documents with their cosines and unit vectors, nearest first."""
        _check_k(k)
        with self._lock:
            found: list[tuple[Document, float, Any]] = []
            for row, score in zip(*self._index.search(vector), strict=True):
                document = self._documents[self._ids[row]]
                if keep is None or keep(document):
                    found.append((deepcopy(document), score, self._index.vectors([row])[0]))
                if len(found) == k:
                    break
            return found

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # Opposed texts are as irrelevant as unrelated ones, and the scale must stay within [0, 1].
        return lambda cosine: min(1.0, max(0.0, cosine))


def _check_k(k: int) -> None:
    if k < 1:
        raise ConfigError(f"k is {k}; ask for 1 document or more.")


def _document(text: str, metadata: dict[str, Any], name: str | None) -> Document:
    try:
        canonical = json.dumps([text, metadata], sort_keys=True)
    except (TypeError, ValueError) as error:
        raise DocumentError(
            f"The metadata of document {name or text[:40]!r} is not JSON ({error}). "
            "Turn its values into strings, numbers, lists or dicts."
        ) from error
    name = name or hashlib.sha256(canonical.encode()).hexdigest()[:32]
    return Document(id=name, page_content=text, metadata=deepcopy(metadata))


def _id(document: Document) -> str:
    return document.id or ""


def _read_documents(data: bytes, folder: Path) -> dict[str, Document]:
    try:
        items = json.loads(data)
        return {
            item["id"]: Document(id=item["id"], page_content=item["text"], metadata=item["metadata"])
            for item in items
        }
    except (ValueError, TypeError, KeyError) as error:
        raise StoreDamagedError(
            f"{folder}: {_DOCUMENTS} is not a list of documents. Build it again."
        ) from error


def _refuse(options: dict[str, Any]) -> None:
    """LangChain passes unknown options on; a misspelt one must not go unseen."""
    if options:
        raise ConfigError(f"AffixFAISS has no option {', '.join(sorted(options))}. Remove it.")
