"""Token ids as pieces of text that can be shown: no character is torn apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

_UNDECODABLE = "\ufffd"


class Vocabulary(Protocol):
    """What is needed of a tokenizer; `ragcache.prompt.ChatTokenizer` is one."""

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Each special token's text and id."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the tokens, without the special ones."""
        ...


@dataclass(frozen=True)
class Piece:
    """The text of the tokens `start` to `stop` (excluded): one token, or all that share a character."""

    text: str
    start: int
    stop: int
    special: bool = False


def cut(ids: Sequence[int], vocabulary: Vocabulary, start: int = 0) -> tuple[Piece, ...]:
    """Pieces of `ids`, the first of which stands at position `start`; special tokens are pieces too."""
    names = {token: text for text, token in vocabulary.special_tokens.items()}
    pieces: list[Piece] = []
    for special, tokens in groupby(ids, key=names.get):
        run = list(tokens)
        if special is None:
            pieces += _cut_plain(run, vocabulary, start)
        else:
            pieces += (Piece(special, at, at + 1, special=True) for at in range(start, start + len(run)))
        start += len(run)
    return tuple(pieces)


def _cut_plain(run: list[int], vocabulary: Vocabulary, origin: int) -> Iterator[Piece]:
    whole = vocabulary.decode(run)
    begun = shown = 0
    for end in range(1, len(run) + 1):
        text = vocabulary.decode(run[begun:end])
        if end == len(run):
            text = whole[shown:]
        elif not text or not whole.startswith(text, shown):
            continue
        elif _UNDECODABLE in text and vocabulary.decode(run[end:]) != whole[shown + len(text) :]:
            continue  # the sign is in the text itself, and this is only a part of its bytes
        yield Piece(text, origin + begun, origin + end)
        begun, shown = end, shown + len(text)
