"""Documents that keep their names on the way into a prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.prompt_values import PromptValue, StringPromptValue
from langchain_core.prompts import PromptTemplate
from pydantic import Field

from ragcache.errors import InputError
from ragcache.prompt.span_index import SpanIndex

SEPARATOR = "\n\n"


class MarkedText(str):
    """A text that knows which parts of it are affixes: `marks` are their texts by name.

    What str's methods make of it are plain strings, which know nothing.
    """

    __slots__ = ("marks",)
    marks: Mapping[str, str]

    @classmethod
    def of(cls, text: str, marks: Mapping[str, str]) -> Self:
        """`text` with `marks`. Raises `InputError` for a mark whose text does not stand in it."""
        for name, affix in marks.items():
            if affix not in text:
                raise InputError(
                    f"Affix {name!r} is marked, but its text does not stand in the prompt; "
                    "put it in as it is, or leave the mark out."
                )
        marked = cls(text)
        marked.marks = dict(marks)
        return marked


class MarkedPromptValue(StringPromptValue):
    """A prompt with affixes, for either kind of model."""

    marks: dict[str, str] = Field(default_factory=dict)

    def to_string(self) -> str:
        """A `MarkedText`, for an LLM."""
        return MarkedText.of(self.text, self.marks)

    def to_messages(self) -> list[BaseMessage]:
        """One user message for a chat model, every affix a block with its name as `id`."""
        blocks: list[str | dict[str, Any]] = []
        at = 0
        for name, start, end in SpanIndex(self.marks).find(self.text, 0, len(self.text)):
            blocks += _block(self.text[at:start])
            blocks += _block(self.text[start:end], name)
            at = end
        return [HumanMessage(content=blocks + _block(self.text[at:]))] if at else super().to_messages()


class AffixPromptTemplate(PromptTemplate):
    """A `PromptTemplate` whose prompts keep the marks of the `MarkedText`s that are put into it.

    Raises `InputError`, naming the mark, where the template changes a marked text.
    """

    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """See `PromptTemplate`."""
        values = {**self.partial_variables, **kwargs}
        marks: dict[str, str] = {}
        for name in self.input_variables:
            value = values.get(name)
            marks.update(value.marks if isinstance(value, MarkedText) else {})
        text = MarkedText.of(self.format(**kwargs), marks)
        return MarkedPromptValue(text=str(text), marks=marks)

    async def aformat_prompt(self, **kwargs: Any) -> PromptValue:
        """See `format_prompt`."""
        return self.format_prompt(**kwargs)


def stuff_affixes(documents: Iterable[Document], separator: str = SEPARATOR) -> MarkedText:
    """All documents in one text, as the usual `format_docs` does, every one an affix.

    Equal texts have one name. Documents without a visible character are left unmarked.
    """
    contents: list[str] = []
    marks: dict[str, str] = {}
    for document in documents:
        contents.append(document.page_content)
        if document.page_content.strip() and document.page_content not in marks.values():
            marks[_free(affix_name(document), document.page_content, marks)] = document.page_content
    return MarkedText.of(separator.join(contents), marks)


def affix_message(message: BaseMessage, name: str | None = None) -> BaseMessage:
    """A copy whose text is one affix, called by its content unless `name` is given.

    A message without a visible character, or whose content is blocks already, is returned as it is.
    """
    text = message.content
    if not isinstance(text, str) or not text.strip():
        return message
    return message.model_copy(update={"content": _block(text, name or content_name(text))})


def affix_name(document: Document) -> str:
    """What a document is called: its `affix`, its id, its source, or a digest of its text."""
    for name in (document.metadata.get("affix"), document.id, document.metadata.get("source")):
        if name:
            return str(name)
    return content_name(document.page_content)


def content_name(text: str) -> str:
    """A name that depends on the text alone."""
    return "text-" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _free(name: str, text: str, taken: Mapping[str, str]) -> str:
    """Chunks of one source share its name; then the text tells them apart."""
    return name if name not in taken else f"{name}#{content_name(text)}"


def _block(text: str, name: str | None = None) -> list[str | dict[str, Any]]:
    if not text:
        return []
    return [{"type": "text", "text": text, **({"id": name} if name else {})}]
