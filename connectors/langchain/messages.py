"""From LangChain's prompts to ours: roles and marks kept, nothing spelt out as "Human:" text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, ChatMessage
from langchain_core.prompt_values import ChatPromptValue, PromptValue

from ragcache.errors import InputError
from ragcache.prompt import Affix, Message, Part, Prompt
from ragcache.prompt.span_index import SpanIndex

_ROLES = {"human": "user", "ai": "assistant", "function": "tool"}


class ConversationText(str):
    """What LangChain logs, and caches under, for a conversation; `messages` is what the model gets.

    JSON, because "Human: hi" as a conversation must not share a cache entry with the text "Human: hi".
    """

    __slots__ = ("messages",)
    messages: tuple[Message, ...]

    @classmethod
    def of(cls, messages: tuple[Message, ...]) -> ConversationText:
        """The text of `messages`."""
        turns = [{"role": message.role, "content": message.text} for message in messages]
        text = cls(json.dumps(turns, ensure_ascii=False))
        text.messages = messages
        return text


class ConversationPrompt(ChatPromptValue):
    """A chat prompt that a plain LLM receives with its roles."""

    def to_string(self) -> str:
        """A `ConversationText`; a lone user message is the same as its text."""
        messages = tuple(to_message(message) for message in self.messages)
        if len(messages) == 1 and messages[0].role == "user":
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
    """One turn. Raises `InputError` for content that is not text, or a role that is not a plain word."""
    role = message.role if isinstance(message, ChatMessage) else _ROLES.get(message.type, message.type)
    return Message(role, (_text(message),))


def mark(text: str, affixes: Mapping[str, str]) -> MarkedPrompt:
    """The prompt of `text`, with every occurrence of `affixes` (names to texts) marked.

    A `ConversationText` gives its messages, any other text a user message. Where affixes overlap the
    leftmost counts, then the longest.
    """
    plain = (Message("user", (text,)),)
    messages = text.messages if isinstance(text, ConversationText) else plain
    index = SpanIndex(affixes)
    marked = [Message(m.role, tuple(_parts(m.text, index, affixes))) for m in messages]
    prompt = Prompt(tuple(marked))
    found = {affix.name for affix in prompt.affixes}
    return MarkedPrompt(prompt, tuple(name for name in affixes if name not in found))


def _parts(text: str, index: SpanIndex, affixes: Mapping[str, str]) -> Iterator[Part]:
    at = 0
    for name, start, end in index.find(text, 0, len(text)):
        yield text[at:start]
        yield Affix(name, affixes[name])
        at = end
    yield text[at:]


def _text(message: BaseMessage) -> str:
    content = message.content
    blocks: Sequence[object] = [content] if isinstance(content, str) else content
    return "".join(_block_text(block, message.type) for block in blocks)


def _block_text(block: object, kind: str) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and isinstance(block.get("text"), str):
        return str(block["text"])
    what = block.get("type") if isinstance(block, Mapping) else type(block).__name__
    raise InputError(f"The {kind} message holds a block of type {what!r}; this model reads text only.")
