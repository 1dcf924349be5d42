"""How a RAG prompt is put together: system prompt, documents, question; everything but the question an affix."""

from __future__ import annotations

from collections.abc import Sequence

from ragcache.errors import EmptyQuestionError
from ragcache.pipelines.rag.chunks import Chunk
from ragcache.prompt import Affix, Part, Prompt

SYSTEM_NAME = "ragcache/system"
SYSTEM_PROMPT = (
    'Answer from the documents only, in as few words as possible. Say "not stated" if they do not tell.'
)


def rag_prompt(question: str, chunks: Sequence[Chunk], system: str = SYSTEM_PROMPT) -> Prompt:
    """System turn, then documents and question in one user turn. Raises `EmptyQuestionError`."""
    if not question.strip():
        raise EmptyQuestionError("the question is empty; ask something")
    parts: list[Part] = []
    for chunk in chunks:
        parts += [Affix(chunk.name, chunk.text), "\n\n"]
    return Prompt.user(*parts, f"Question: {question.strip()}", system=Affix(SYSTEM_NAME, system))
