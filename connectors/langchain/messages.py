"""From LangChain's prompts to ours: roles and marks kept, nothing spelt out as "Human:" text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, ChatMessage
from langchain_core.prompt_values import ChatPromptValue, PromptValue

from ragcache.connectors.langchain.marks import MarkedText, content_name
from ragcache.errors import InputError
from ragcache.prompt import Affix, Message, Part, Prompt
from ragcache.prompt.span_index import SpanIndex

_RANDOM_ID = "lc_"
_ROLES = {"human": "user", "ai": "assistant", "function": "tool"}


class ConversationText(str):
    """What LangChain logs, and caches under, for a conversation; `messages` is what the model gets.

    JSON, because "Human: hi" as a conversation must not share a cache entry with the text "Human: hi".
    """

    __slots__ = ("messages",)
    messages: tuple[Message, ...]

    @classmethod
    def of(cls, messages: tuple[Message, ...]) -> ConversationText:
        """The text of `messages`; marks are in it, for they change what is reused."""
        turns = [{"role": message.role, "content": _plain(message)} for message in messages]
        text = cls(json.dumps(turns, ensure_ascii=False))
        text.messages = messages
        return text


class ConversationPrompt(ChatPromptValue):
    """A chat prompt that a plain LLM receives with its roles."""

    def to_string(self) -> str:
        """A `ConversationText`; a lone user message is the same as its text."""
        messages = tuple(to_message(message) for message in self.messages)
        if len(messages) == 1 and messages[0].role == "user" and messages[0].content == (messages[0].text,):
            return messages[0].text
        return ConversationText.of(messages)


@dataclass(frozen=True)
class MarkedPrompt:
    """A prompt, and the names of those affixes whose text does not stand in it."""

    prompt: Prompt
    missing: tuple[str, ...]


def keep_roles(prompt: PromptValue) -> PromptValue:
    """The same prompt, such that its string keeps the messages' roles."""
    if isinstance(prompt, ChatPromptValue) and not isinstance(prompt, ConversationPrompt):
        return ConversationPrompt(messages=prompt.messages)
    return prompt


def to_message(message: BaseMessage) -> Message:
    """One turn; a text block with an `id`, or with `cache_control`, is an affix.

    Raises `InputError` for content that is not text, or a role that is not a plain word.
    """
    role = message.role if isinstance(message, ChatMessage) else _ROLES.get(message.type, message.type)
    content = message.content
    blocks: Sequence[object] = [content] if isinstance(content, str) else content
    return Message(role, tuple(_part(block, message.type) for block in blocks))


def mark(text: str, affixes: Mapping[str, str]) -> MarkedPrompt:
    """The prompt of `text`: a `ConversationText` gives its messages, any other text a user message.

    A `MarkedText` brings affixes of its own.
    """
    if isinstance(text, MarkedText):
        affixes = {**text.marks, **affixes}
    plain = (Message("user", (str(text),)),)
    return mark_messages(text.messages if isinstance(text, ConversationText) else plain, affixes)


def mark_messages(messages: Sequence[Message], affixes: Mapping[str, str]) -> MarkedPrompt:
    """The prompt of `messages`, with every unmarked occurrence of `affixes` (names to texts) marked.

    Where affixes overlap the leftmost counts, then the longest.
    """
    index = SpanIndex(affixes)
    marked = [Message(m.role, tuple(_marked(m.content, index, affixes))) for m in messages]
    prompt = Prompt(tuple(marked))
    found = {affix.name for affix in prompt.affixes}
    return MarkedPrompt(prompt, tuple(name for name in affixes if name not in found))


def _marked(content: Sequence[Part], index: SpanIndex, affixes: Mapping[str, str]) -> Iterator[Part]:
    for part in content:
        yield from _parts(part, index, affixes) if isinstance(part, str) else (part,)


def _parts(text: str, index: SpanIndex, affixes: Mapping[str, str]) -> Iterator[Part]:
    at = 0
    for name, start, end in index.find(text, 0, len(text)):
        yield text[at:start]
        yield Affix(name, affixes[name])
        at = end
    yield text[at:]


def _plain(message: Message) -> str | list[dict[str, str]]:
    """Content as JSON has it: a text, or blocks where something is marked."""
    if not any(isinstance(part, Affix) for part in message.content):
        return message.text
    return [
        {"text": part} if isinstance(part, str) else {"id": part.name, "text": part.text}
        for part in message.content
    ]


def _part(block: object, kind: str) -> Part:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and isinstance(block.get("text"), str):
        text, name = str(block["text"]), _name(block)
        return Affix(name, text) if name and text.strip() else text
    what = block.get("type") if isinstance(block, Mapping) else type(block).__name__
    raise InputError(f"The {kind} message holds a block of type {what!r}; this model reads text only.")


def _name(block: Mapping[str, object]) -> str | None:
    """What a block is called; LangChain's own ids are random, so that they mark nothing."""
    name = block.get("id")
    if isinstance(name, str) and name and not name.startswith(_RANDOM_ID):
        return name
    if block.get("cache_control"):
        return content_name(str(block["text"]))
    return None
