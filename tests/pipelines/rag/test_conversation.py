"""The prompt of a conversation: documents before the first question, turns as affixes."""

from __future__ import annotations

import pytest

from ragcache.errors import EmptyQuestionError
from ragcache.pipelines.rag.chunks import Chunk
from ragcache.pipelines.rag.conversation import Conversation, Turn, conversation_prompt
from ragcache.pipelines.rag.documents import Document
from ragcache.pipelines.rag.pipeline import RagPipeline
from ragcache.prompt.rag import SYSTEM

from .test_index import Letters

CHUNK = Chunk("a.md", "A text.", "a.md")


def test_documents_stand_before_the_first_question() -> None:
    prompt = conversation_prompt([Turn("One?", "1"), Turn("Two?", " ")], " Three? ", [CHUNK])
    turns = [(message.role, message.text) for message in prompt.messages]
    assert turns == [
        ("system", SYSTEM.text),
        ("user", "A text.\n\nQuestion: One?"),
        ("assistant", "1"),
        ("user", "Question: Two?"),
        ("assistant", " "),
        ("user", "Question: Three?"),
    ]
    names = [affix.name for affix in prompt.affixes]
    assert names == ["ragcache/system", "a.md", "question 1", "answer 1", "question 2"]


def test_the_first_question_is_as_in_ask() -> None:
    from ragcache.pipelines.rag.prompting import chunk_prompt

    assert conversation_prompt([], "One?", [CHUNK]) == chunk_prompt("One?", [CHUNK])


def test_an_empty_question_is_refused() -> None:
    pipeline = RagPipeline([Document("a.md", "A text.")], None, Letters("a"))  # type: ignore[arg-type]
    with pytest.raises(EmptyQuestionError):
        next(Conversation(pipeline).ask(" "))
