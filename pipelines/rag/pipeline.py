"""The main job: retrieve, assemble a prompt from affixes, answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ragcache.closing import Closing
from ragcache.connectors.embedder import Embedder, MiniLMEmbedder
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import BaseEngine, Completion, Engine, Request, load
from ragcache.errors import ConfigError, DocumentError, EmptyQuestionError, InputError, RegistryError
from ragcache.pipelines.rag.chunks import Chunk, chunk
from ragcache.pipelines.rag.citations import Citation, cite
from ragcache.pipelines.rag.documents import Document
from ragcache.pipelines.rag.index import DocumentIndex, Hit
from ragcache.pipelines.rag.prompting import SYSTEM_NAME, SYSTEM_PROMPT, chunk_prompt
from ragcache.pipelines.sync import Changes, apply_changes, find_changes
from ragcache.registry import Registry
from ragcache.registry.location import default_folder


@dataclass(frozen=True)
class Answer:
    """An answer, the chunks it was read from (best first), and the completion with its reuse report."""

    text: str
    sources: tuple[Hit, ...]
    completion: Completion
    retrieve_s: float

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sentences of the sources in which the answer stands literally; often none."""
        return cite(self.text, (hit.chunk for hit in self.sources))


class RagPipeline(Closing):
    """Documents in, answers out. Engine and registry stay the caller's, unless they were made here."""

    def __init__(
        self,
        documents: Sequence[Document],
        engine: BaseEngine,
        embeddings: Embedder,
        *,
        top_k: int = 4,
        cache: Path | None = None,
    ) -> None:
        self.engine, self.top_k = engine, top_k
        self.index = DocumentIndex.build(_chunks(documents), embeddings, cache)
        self._embeddings, self._cache = embeddings, cache
        self._folder: tuple[Path, str] | None = None
        self._owned = ExitStack()

    @classmethod
    def from_folder(
        cls,
        folder: Path | str,
        engine: BaseEngine | None = None,
        embeddings: Embedder | None = None,
        *,
        model: str = "nano",
        store: Path | None = None,
        prefix: str = "",
        top_k: int = 4,
    ) -> Self:
        """A pipeline over the files of `folder`, every chunk named in the store and its page built.

        `sync` then follows the folder. Without an `engine`, `model` is loaded over the `store` (by default
        the one in the user's cache): close the pipeline, or use it as a context manager. `prefix` is put
        before every name, where two folders have files of the same name.

        Raises `DocumentError`, `InputError` for names of another folder, `ConfigError` for an engine without
        a registry, and what loading a model or opening a store raises.
        """
        with ExitStack() as stack:
            if engine is None:
                registry = stack.enter_context(Registry(store or default_folder()))
                engine = stack.enter_context(Engine(load(model), registry))
            changes = _follow(Path(folder), prefix, engine)
            pipeline = cls(changes.documents, engine, embeddings or MiniLMEmbedder(), top_k=top_k)
            pipeline._folder = (Path(folder), prefix)
            pipeline._owned = stack.pop_all()
        return pipeline

    def sync(self) -> Changes:
        """Follow the folder: only chunks that changed are embedded and encoded; what changed is returned.

        Raises as `from_folder`; `ConfigError` for a pipeline that was not made from a folder.
        """
        if self._folder is None:
            raise ConfigError("this pipeline follows no folder; make it with RagPipeline.from_folder")
        changes = _follow(*self._folder, self.engine)
        self.index = DocumentIndex.build(
            _chunks(changes.documents), self._embeddings, self._cache, self.index
        )
        return changes

    def retrieve(self, question: str) -> tuple[tuple[Hit, ...], float]:
        """The chunks nearest to the question, and the seconds that took. Raises `EmptyQuestionError`."""
        if not question.strip():
            raise EmptyQuestionError("the question is empty; ask something")
        started = time.perf_counter()
        hits = self.index.search(question, self.top_k)
        return hits, time.perf_counter() - started

    def ask(
        self,
        question: str,
        *,
        options: DecodingOptions | None = None,
        compare: bool = False,
        trace: bool = False,
    ) -> Answer:
        """Answer one question; `compare` and `trace` are the request's.

        Raises `EmptyQuestionError`, `PromptTooLongError` and the engine's errors.
        """
        hits, retrieve_s = self.retrieve(question)
        chunks = [hit.chunk for hit in hits]
        self._register(chunks)
        prompt = chunk_prompt(question, chunks)
        request = Request(prompt, options or DecodingOptions(), compare=compare, trace=trace)
        future = self.engine.submit(request)
        try:
            completion = future.result()
        finally:
            future.cancel()  # when the caller is interrupted, the engine has nothing left to wait for
        return Answer(completion.text, hits, completion, retrieve_s)

    def close(self) -> None:
        """Let go of an engine and a store that were made here; may be called again."""
        self._owned.close()

    def _register(self, chunks: Sequence[Chunk]) -> None:
        """Name the chunks, for `ragcache affix list`; a store that fails is no obstacle."""
        if self.engine.registry is None:
            return
        for name, text in [(SYSTEM_NAME, SYSTEM_PROMPT), *((c.name, c.text) for c in chunks)]:
            with suppress(RegistryError, InputError):  # InputError: a path too long to be a name
                self.engine.registry.register(name, text, namespace=self.engine.namespace)


def _follow(folder: Path, prefix: str, engine: BaseEngine) -> Changes:
    """The store made as the folder is."""
    if engine.registry is None:
        raise ConfigError("the engine has no registry, so nothing can follow the folder; give it one")
    changes = find_changes(folder, engine.registry, prefix=prefix, namespace=engine.namespace)
    apply_changes(changes, engine.registry, engine)
    return changes


def _chunks(documents: Sequence[Document]) -> list[Chunk]:
    chunks = [piece for document in documents for piece in chunk(document)]
    if not chunks:
        raise DocumentError("no text in the documents; pass a file that is not empty")
    return chunks
