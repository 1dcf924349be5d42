"""From retrieved chunks to a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from ragcache.pipelines.rag.chunks import Chunk
from ragcache.prompt import Affix, Prompt
from ragcache.prompt.rag import SYSTEM, rag_prompt

SYSTEM_NAME, SYSTEM_PROMPT = SYSTEM.name, SYSTEM.text


def chunk_prompt(question: str, chunks: Sequence[Chunk]) -> Prompt:
    """The RAG prompt over `chunks`, in their order. Raises `EmptyQuestionError`."""
    return rag_prompt(question, [Affix(chunk.name, chunk.text) for chunk in chunks])
