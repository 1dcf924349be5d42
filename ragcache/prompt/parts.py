"""A prompt as ordered parts: messages whose content is text and marked spans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from ragcache.errors import InputError

# A role stands outside the content, where special tokens count: it must not be able to spell one.
_ROLE = re.compile(r"\w(?:[\w .:@/-]*\w)?")


@dataclass(frozen=True)
class Affix:
    """A marked span: this text is to be reused under this name. The text is taken as it is.

    Raises `InputError` for an empty name or a text without a visible character.
    """

    name: str
    text: str

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("An affix needs a name; it was empty.")
        if not self.text.strip():
            raise InputError(f"Affix {self.name!r} holds no text; leave it out or give it some.")


Part: TypeAlias = str | Affix


@dataclass(frozen=True)
class Message:
    """One turn. The parts of its content are joined without anything between them.

    Roles are the template's business: an unknown one is handed through. Raises `InputError` for a
    role that is not a plain word and for content that is not a tuple of `str` and `Affix`.
    """

    role: str
    content: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not _ROLE.fullmatch(self.role):
            raise InputError(f"Role {self.role!r} is not a plain word such as 'user'.")
        if not isinstance(self.content, tuple) or not all(isinstance(p, str | Affix) for p in self.content):
            raise InputError(f"Content of the {self.role} message must be a tuple of str and Affix.")

    @property
    def text(self) -> str:
        """The whole content as text."""
        return "".join(_text(part) for part in self.content)

    @property
    def marks(self) -> tuple[tuple[Affix, int], ...]:
        """Each affix with the index of its first character in `text`."""
        marks, at = [], 0
        for part in self.content:
            if isinstance(part, Affix):
                marks.append((part, at))
            at += len(_text(part))
        return tuple(marks)


@dataclass(frozen=True)
class Prompt:
    """What the model is asked: messages for the chat template, or raw text for a base model.

    With `raw` there is no template: the content of the single message is the prompt.
    Raises `InputError` without messages, and for raw text in more than one message.
    """

    messages: tuple[Message, ...]
    raw: bool = False

    def __post_init__(self) -> None:
        if not self.messages:
            raise InputError("A prompt needs at least one message; it had none.")
        if self.raw and len(self.messages) > 1:
            raise InputError(f"A raw prompt is one text; it had {len(self.messages)} messages.")

    @classmethod
    def chat(cls, *messages: Message) -> Prompt:
        """A conversation; the template adds the head of the assistant's answer."""
        return cls(messages)

    @classmethod
    def user(cls, *content: Part, system: tuple[Part, ...] | Part | None = None) -> Prompt:
        """One user message, after a system message if `system` is given."""
        question = Message("user", content)
        if system is None:
            return cls((question,))
        return cls((Message("system", system if isinstance(system, tuple) else (system,)), question))

    @classmethod
    def plain(cls, *content: Part) -> Prompt:
        """A text to be read as it is, for a base model."""
        return cls((Message("user", content),), raw=True)

    @property
    def affixes(self) -> tuple[Affix, ...]:
        """The marked spans in reading order; a span that stands twice is listed twice."""
        return tuple(affix for message in self.messages for affix, _ in message.marks)


def _text(part: Part) -> str:
    return part.text if isinstance(part, Affix) else part
