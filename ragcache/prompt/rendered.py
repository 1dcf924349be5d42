"""A prompt as the text the model will read, with the marks carried along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragcache.prompt.layout import Piece, locate
from ragcache.prompt.parts import Affix, Message

_CHANGED = "the chat template changed its message"
_STRIPPED = "the chat template stripped it away"
_LEFT_OUT = "the chat template left its message out"
_UNLOCATED = "the chat template rearranged the messages"


@dataclass(frozen=True)
class CharSpan:
    """Characters `start..end` of the rendered text are the affix, without its first `cut` characters.

    `text` is the whole affix. It is longer than the span where the template stripped blanks off
    the message's ends; `cut` counts those lost at the affix's start.
    """

    name: str
    text: str
    start: int
    end: int
    cut: int = 0


@dataclass(frozen=True)
class SkippedMark:
    """A mark that could not be carried along; `start` is a character of the rendered text near it."""

    name: str
    start: int
    reason: str


@dataclass(frozen=True)
class Rendered:
    """The prompt's text; spans are in characters, sorted and disjoint.

    Only outside `content_spans` may a special token's text become the special token.
    """

    text: str
    affix_spans: tuple[CharSpan, ...]
    content_spans: tuple[tuple[int, int], ...]
    skipped: tuple[SkippedMark, ...] = ()


def render_joined(messages: Sequence[Message], separator: str = "\n\n") -> Rendered:
    """The contents as they are, with `separator` between messages and no roles."""
    contents = [message.text for message in messages]
    pieces, at = [], 0
    for i, content in enumerate(contents):
        pieces.append(Piece(i, at, at + len(content)))
        at += len(content) + len(separator)
    return _carry(separator.join(contents), messages, pieces)


def render_through(messages: Sequence[Message], render: Callable[[Sequence[str]], str]) -> Rendered:
    """The text a template makes of the messages; `render` is the template with the roles filled in.

    If the template is no fixed frame around the contents, there are no content spans and every mark
    is skipped.
    """
    contents = [message.text for message in messages]
    text = render(contents)
    pieces = locate(text, render, contents)
    if pieces is not None:
        return _carry(text, messages, pieces)
    names = [affix.name for message in messages for affix, _ in message.marks]
    return Rendered(text, (), (), tuple(SkippedMark(name, 0, _UNLOCATED) for name in names))


def _carry(text: str, messages: Sequence[Message], pieces: Sequence[Piece]) -> Rendered:
    carried = [
        _place(affix, at, text, messages[p.message].text, p)
        for p in pieces
        for affix, at in messages[p.message].marks
    ]
    seen = {piece.message for piece in pieces}
    lost = [affix.name for i, message in enumerate(messages) if i not in seen for affix, _ in message.marks]
    return Rendered(
        text,
        tuple(span for span in carried if isinstance(span, CharSpan)),
        tuple((piece.start, piece.end) for piece in pieces),
        (
            *(mark for mark in carried if isinstance(mark, SkippedMark)),
            *(SkippedMark(name, 0, _LEFT_OUT) for name in lost),
        ),
    )


def _place(affix: Affix, at: int, text: str, content: str, piece: Piece) -> CharSpan | SkippedMark:
    """The mark at character `at` of `content`, which became `piece` of `text`."""
    became = text[piece.start : piece.end]
    if became == content:
        start = piece.start + at
        return CharSpan(affix.name, affix.text, start, start + len(affix.text))
    kept = content.strip()
    if became.strip() != kept:
        return SkippedMark(affix.name, piece.start, _CHANGED)
    low = piece.start + _indent(became)
    origin = low + at - _indent(content)
    start, end = max(origin, low), min(origin + len(affix.text), low + len(kept))
    if start >= end:
        return SkippedMark(affix.name, piece.start, _STRIPPED)
    return CharSpan(affix.name, affix.text, start, end, start - origin)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
