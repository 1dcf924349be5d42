"""How a prompt for questions about documents is put together: everything but the question is an affix."""

from __future__ import annotations

from collections.abc import Sequence

from ragcache.errors import EmptyQuestionError
from ragcache.prompt.parts import Affix, Part, Prompt

SYSTEM = Affix(
    "ragcache/system",
    'Answer from the documents only, in as few words as possible. Say "not stated" if they do not tell.',
)


def rag_prompt(question: str, documents: Sequence[Affix], system: Affix = SYSTEM) -> Prompt:
    """System turn, then documents and question in one user turn. Raises `EmptyQuestionError`."""
    if not question.strip():
        raise EmptyQuestionError("the question is empty; ask something")
    parts: list[Part] = []
    for document in documents:
        parts += [document, "\n\n"]
    return Prompt.user(*parts, f"Question: {question.strip()}", system=system)
