"""Lines of a batch file: each one a question, or a failure that says what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragcache.errors import DocumentError, EmptyQuestionError, InputError, PromptTooLongError, RagCacheError
from ragcache.evaluation.jsonl import Record, read_line
from ragcache.pipelines.batch_qa.library import Library
from ragcache.prompt import Affix, Message, Part, Prompt
from ragcache.prompt.rag import SYSTEM, rag_prompt

Format = Literal["simple", "openai"]
CODES: tuple[tuple[type[RagCacheError], str], ...] = (
    (PromptTooLongError, "prompt_too_long"),
    (DocumentError, "missing_document"),
    (EmptyQuestionError, "empty_question"),
    (InputError, "invalid_line"),
)
URL = "/v1/chat/completions"


@dataclass(frozen=True)
class Question:
    """One line that can be asked; `affixes` are the texts it is about."""

    line: int
    custom_id: str
    prompt: Prompt
    max_tokens: int | None = None

    @property
    def affixes(self) -> tuple[str, ...]:
        """Texts of the marked spans, in order: questions that share them are asked together."""
        parts = (part for message in self.prompt.messages for part in message.content)
        return tuple(part.text for part in parts if isinstance(part, Affix))


@dataclass(frozen=True)
class Failure:
    """One line that cannot be asked, or whose answer failed. `custom_id` None: the line has none."""

    line: int
    custom_id: str | None
    code: str
    message: str

    @classmethod
    def of(cls, error: Exception, line: int, custom_id: str | None) -> Failure:
        """What `error` is called in an output row."""
        code = next((code for kind, code in CODES if isinstance(error, kind)), "engine_error")
        return cls(line, custom_id, code, str(error))


def read_questions(
    lines: Iterable[bytes], source: str, library: Library, form: Format = "simple"
) -> Iterator[Question | Failure]:
    """One value for every line that is not blank; a later line with an id seen before is a failure."""
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        found = _read(line, f"{source}, line {number}", number, library, form)
        if found is None:
            continue
        first = seen.setdefault(found.custom_id, number) if found.custom_id else number
        if first != number:  # whatever else is wrong with either: their rows could not be told apart
            message = f"lines {first} and {number} both have custom_id {found.custom_id!r}; change one"
            found = Failure(number, found.custom_id, "duplicate_id", message)
        yield found


def _read(line: bytes, where: str, number: int, library: Library, form: Format) -> Question | Failure | None:
    custom_id: str | None = None
    try:
        record = read_line(line, where)
        if record is None:
            return None
        named = record.values.get("custom_id")
        custom_id = named if isinstance(named, str) and named else None
        if custom_id is None:
            raise InputError(f"{where}: field 'custom_id' must be a text that is not empty; add one")
        prompt = _simple(record, library) if form == "simple" else _openai(record)
        return Question(number, custom_id, prompt, _max_tokens(record, form))
    except RagCacheError as error:
        return Failure.of(error, number, custom_id)


def _max_tokens(record: Record, form: Format) -> int | None:
    holder = record if form == "simple" else Record(record.where, record.values["body"])
    names = ("max_tokens",) if form == "simple" else ("max_completion_tokens", "max_tokens")
    for name in names:
        if holder.values.get(name) is not None:
            return holder.whole(name, least=1)
    return None


def _simple(record: Record, library: Library) -> Prompt:
    record.check_names(("custom_id", "question"), ("docs", "system", "max_tokens"))
    if not isinstance(record.values["question"], str):
        raise record.wrong("question", "a text")
    question = record.values["question"]
    if not question.strip():
        raise EmptyQuestionError(f"{record.where}: the question is empty; ask something")
    docs = record.values.get("docs")
    affixes = library.nearest(question) if docs is None else _documents(record, docs, library)
    system = SYSTEM
    if record.values.get("system") is not None:
        system = Affix("system", record.text("system"))
    return rag_prompt(question, affixes, system)


def _documents(record: Record, docs: Any, library: Library) -> list[Affix]:
    wanted = record.wrong("docs", 'a list of names, or of {"id", "text"}')
    if not isinstance(docs, list):
        raise wanted
    affixes: list[Affix] = []
    for doc in docs:
        if isinstance(doc, str):
            try:
                affixes += library.named(doc)
            except DocumentError as error:
                raise DocumentError(f"{record.where}: {error}") from error
        elif isinstance(doc, Mapping) and doc.keys() == {"id", "text"}:
            affixes.append(_affix(record, doc))
        else:
            raise wanted
    return affixes


def _affix(record: Record, doc: Mapping[str, Any]) -> Affix:
    inner = Record(f"{record.where}, document {str(doc['id'])[:40]!r}", dict(doc))
    return Affix(inner.text("id"), inner.text("text"))


def _openai(record: Record) -> Prompt:
    """A line of OpenAI's batch format; what cannot be honoured is refused, never ignored."""
    record.check_names(("custom_id", "method", "url", "body"))
    if record.values["method"] != "POST" or record.values["url"] != URL:
        raise InputError(f"{record.where}: only POST {URL} is served")
    body = record.values["body"]
    if not isinstance(body, dict):
        raise record.wrong("body", "an object")
    inner = Record(record.where, body)
    inner.check_names(("messages",), ("model", "max_tokens", "max_completion_tokens"))
    messages = body["messages"]
    if not isinstance(messages, list) or not messages:
        raise inner.wrong("messages", "a list that is not empty")
    return Prompt(tuple(_message(inner, message) for message in messages))


def _message(record: Record, message: Any) -> Message:
    if not isinstance(message, dict) or message.keys() != {"role", "content"}:
        raise record.wrong("messages", 'a list of {"role", "content"}')
    content = message["content"]
    blocks: Sequence[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        raise record.wrong("messages", "a list whose content is a text or a list of text blocks")
    return Message(message["role"], tuple(_part(record, block) for block in blocks))


def _part(record: Record, block: Any) -> Part:
    """A text block; one with an `id` is an affix of that name."""
    if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
        raise InputError(f'{record.where}: content blocks must be {{"type": "text", "text": ...}}')
    text: str = block["text"]
    name = block.get("id")
    return Affix(name, text) if isinstance(name, str) and name and text.strip() else text
