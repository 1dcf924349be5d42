"""Where a chat template puts each message's content.

Searching the rendered text for a content would guess: the word "user" also stands in a header, and
a content may spell a whole turn. So the template is asked: it renders the same roles once more with
a placeholder per message, which shows the literal text around the contents. Filling the contents
into that skeleton must give the rendered prompt again, character by character; otherwise nothing is
located. Placeholders are never part of a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ragcache.errors import RagCacheError

# Unicode noncharacters: no text may hold them for interchange, no template has a reason to.
_PLACEHOLDER = re.compile("\ufdd0(\\d+)\ufdd1")


@dataclass(frozen=True)
class Piece:
    """Characters `start..end` of the rendered prompt are the content of message `message`."""

    message: int
    start: int
    end: int


def locate(
    text: str, render: Callable[[Sequence[str]], str], contents: Sequence[str]
) -> tuple[Piece, ...] | None:
    """The pieces of `text`, sorted and disjoint; None where the template is no fixed frame.

    `render` gives the prompt's text for the same roles with other contents, and `text` is
    `render(contents)`. A message the template leaves out has no piece; one it repeats has several.
    """
    names = [f"\ufdd0{i}\ufdd1" for i in range(len(contents))]
    try:
        skeleton = _Skeleton(render(names), names)
        for filling in (contents, [content.strip() for content in contents]):
            if skeleton.fill(filling) == text:
                return skeleton.pieces(filling)
        filling = [
            skeleton.solve(i, render([*names[:i], content, *names[i + 1 :]]))
            for i, content in enumerate(contents)
        ]
    except RagCacheError:  # a template may refuse placeholders though it takes the contents
        return None
    return skeleton.pieces(filling) if skeleton.fill(filling) == text else None


class _Skeleton:
    """Literal text with slots: `literals[0] slot[0] literals[1] slot[1] ... literals[-1]`."""

    def __init__(self, rendered: str, names: Sequence[str]) -> None:
        parts = _PLACEHOLDER.split(rendered)
        self.literals = parts[0::2]
        self.slots = [int(number) for number in parts[1::2]]
        self.names = names

    def fill(self, contents: Sequence[str]) -> str:
        values = [contents[slot] for slot in self.slots]
        return "".join(a + b for a, b in zip_longest(self.literals, values, fillvalue=""))

    def pieces(self, contents: Sequence[str]) -> tuple[Piece, ...]:
        pieces, at = [], 0
        for literal, slot in zip(self.literals, self.slots, strict=False):
            start = at + len(literal)
            at = start + len(contents[slot])
            pieces.append(Piece(slot, start, at))
        return tuple(pieces)

    def solve(self, message: int, rendered: str) -> str:
        """What the template made of one content, from a rendering with placeholders for the others.

        A wrong answer is possible where the template is no fixed frame; filling it in shows that.
        """
        first = next((p.start for p in self.pieces(self.names) if p.message == message), None)
        if first is None:
            return ""
        count = self.slots.count(message)
        frame = len(self.fill(self.names)) - count * len(self.names[message])
        return rendered[first : first + max(0, len(rendered) - frame) // count]
