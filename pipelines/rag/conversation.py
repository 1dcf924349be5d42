"""A conversation about documents: system prompt, documents and earlier turns are all affixes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Request
from ragcache.pipelines.rag.chunks import Chunk
from ragcache.pipelines.rag.pipeline import Answer, RagPipeline
from ragcache.prompt import Affix, Message, Part, Prompt
from ragcache.prompt.rag import SYSTEM


@dataclass(frozen=True)
class Turn:
    """A question and what was answered."""

    question: str
    answer: str


@dataclass(frozen=True)
class Reply:
    """An answer, and how many of the oldest turns were left out because they no longer fitted."""

    answer: Answer
    left_out: int


class Conversation:
    """Questions to a pipeline, one after the other; `turns` are those answered so far.

    Documents are those nearest to the newest question, and stand before the first one. Turns that no longer
    fit the window beside them are left out, the oldest first, and counted in the reply.
    """

    def __init__(self, pipeline: RagPipeline, options: DecodingOptions | None = None) -> None:
        self.pipeline, self.options = pipeline, options or DecodingOptions()
        self.turns: list[Turn] = []

    def ask(self, question: str) -> Generator[str, None, Reply]:
        """Append-only pieces of the answer; returns the `Reply`. Closing it early forgets the question.

        Raises `EmptyQuestionError`, `PromptTooLongError` if question and documents alone do not fit, and the
        engine's errors; the turn is then not kept.
        """
        hits, retrieve_s = self.pipeline.retrieve(question)
        request, left_out = self._fitting(question, [hit.chunk for hit in hits])
        completion = yield from self.pipeline.engine.stream(request)
        self.turns.append(Turn(question, completion.text))
        return Reply(Answer(completion.text, hits, completion, retrieve_s), left_out)

    def _fitting(self, question: str, chunks: Sequence[Chunk]) -> tuple[Request, int]:
        """The request with as many of the newest turns as fit, and how many did not."""
        for left_out in range(len(self.turns) + 1):
            prompt = conversation_prompt(self.turns[left_out:], question, chunks)
            request = Request(prompt, self.options)
            if not self.pipeline.engine.preview(request).over:
                break
        return request, left_out


def conversation_prompt(turns: Sequence[Turn], question: str, chunks: Sequence[Chunk]) -> Prompt:
    """System prompt, documents, `turns`, and the question; everything but the question is an affix."""
    opening: list[Part] = []
    for chunk in chunks:
        opening += [Affix(chunk.name, chunk.text), "\n\n"]
    messages = [Message("system", (SYSTEM,))]
    for number, turn in enumerate(turns, start=1):
        asked = Affix(f"question {number}", _asked(turn.question))
        messages.append(Message("user", (*opening, asked)))
        messages.append(Message("assistant", (_answered(turn, number),)))
        opening = []
    return Prompt.chat(*messages, Message("user", (*opening, _asked(question))))


def _asked(question: str) -> str:
    return f"Question: {question.strip()}"


def _answered(turn: Turn, number: int) -> Part:
    return Affix(f"answer {number}", turn.answer) if turn.answer.strip() else turn.answer
