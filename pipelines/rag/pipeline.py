"""The main job: retrieve, assemble a prompt from affixes, answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ragcache.connectors.embedder import Embedder
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Engine, Request
from ragcache.errors import DocumentError, EmptyQuestionError, InputError, RegistryError
from ragcache.pipelines.rag.chunks import Chunk, chunk
from ragcache.pipelines.rag.documents import Document
from ragcache.pipelines.rag.index import DocumentIndex, Hit
from ragcache.pipelines.rag.prompting import SYSTEM_NAME, SYSTEM_PROMPT, chunk_prompt


@dataclass(frozen=True)
class Answer:
    """An answer, the chunks it was read from (best first), and the completion with its reuse report."""

    text: str
    sources: tuple[Hit, ...]
    completion: Completion
    retrieve_s: float


class RagPipeline:
    """Documents in, answers out. The engine and its registry stay the caller's."""

    def __init__(
        self,
        documents: Sequence[Document],
        engine: Engine,
        embeddings: Embedder,
        *,
        top_k: int = 4,
        cache: Path | None = None,
    ) -> None:
        self.engine, self.top_k = engine, top_k
        chunks = [piece for document in documents for piece in chunk(document)]
        if not chunks:
            raise DocumentError("no text in the documents; pass a file that is not empty")
        self.index = DocumentIndex.build(chunks, embeddings, cache)

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
        if not question.strip():
            raise EmptyQuestionError("the question is empty; ask something")
        started = time.perf_counter()
        hits = self.index.search(question, self.top_k)
        retrieve_s = time.perf_counter() - started
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

    def _register(self, chunks: Sequence[Chunk]) -> None:
        """Name the chunks, for `ragcache affix list`; a store that fails is no obstacle."""
        if self.engine.registry is None:
            return
        for name, text in [(SYSTEM_NAME, SYSTEM_PROMPT), *((c.name, c.text) for c in chunks)]:
            with suppress(RegistryError, InputError):  # InputError: a path too long to be a name
                self.engine.registry.register(name, text, namespace=self.engine.namespace)
