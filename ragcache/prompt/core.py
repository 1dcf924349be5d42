"""The core of an affix: the tokens it keeps when it stands in a prompt."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass

from ragcache.prompt.chat_tokenizer import Encoding
from ragcache.prompt.rendered import CharSpan


@dataclass(frozen=True)
class Core:
    """`tokens` tokens from `start` in the prompt equal those from `core_start` in the affix alone."""

    start: int
    core_start: int
    tokens: int


def token_range(prompt: Encoding, start: int, end: int) -> tuple[int, int]:
    """Tokens `first..last` (last excluded) of the prompt that touch the characters `start..end`."""
    first = bisect_left(prompt.offsets, start + 1, key=lambda offset: offset[1])
    return first, bisect_left(prompt.offsets, max(start, end), lo=first, key=lambda offset: offset[0])


def find_core(prompt: Encoding, own: Encoding, span: CharSpan) -> Core:
    """The longest run of tokens that prompt and affix share; `tokens` is 0 if there is none.

    Two tokens are the same if they have the same id and were made of the same characters of the
    affix. A token that also holds characters from outside the span differs by that.
    """
    origin = span.start - span.cut
    where = {key: index for index, key in enumerate(_keys(own, 0, len(own.ids), 0))}
    first, last = token_range(prompt, span.start, span.end)
    best = run = Core(first, 0, 0)
    for position, key in enumerate(_keys(prompt, first, last, origin), start=first):
        index = where.get(key)
        if index is None:
            run = Core(position + 1, 0, 0)
        elif run.tokens and index == run.core_start + run.tokens:
            run = Core(run.start, run.core_start, run.tokens + 1)
        else:
            run = Core(position, index, 1)
        best = max(best, run, key=lambda core: core.tokens)
    return best


def _keys(encoding: Encoding, first: int, last: int, origin: int) -> list[tuple[int, int, int, int]]:
    """Per token its characters from `origin`, its id, and how many equal ones stood before.

    The count tells apart the bytes of one character, which share their offsets.
    """
    seen: Counter[tuple[int, int, int]] = Counter()
    keys = []
    for token, (start, end) in zip(encoding.ids[first:last], encoding.offsets[first:last], strict=True):
        key = (start - origin, end - origin, token)
        keys.append((*key, seen[key]))
        seen[key] += 1
    return keys
