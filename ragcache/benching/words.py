"""Texts of an exact number of tokens: words that are one token each, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

from ragcache.errors import ConfigError
from ragcache.prompt import ChatTokenizer

MOST = 2000  # words; enough to tell any two texts apart
LEAST = 2
_SAMPLE = 200  # words that are tried together


@dataclass(frozen=True)
class Words:
    """`choices` are words with the blank before them, each one token of a tokenizer."""

    choices: tuple[str, ...]

    @classmethod
    def of(cls, tokenizer: ChatTokenizer) -> Words:
        """The first words of a vocabulary. Raises `ConfigError` where there are none, or they merge."""
        words = cls(tuple(islice(_single(tokenizer), MOST)))
        if len(words.choices) < LEAST:
            raise ConfigError(
                "this tokenizer has no two words of one token each, which texts of exact length need; "
                "bench another model"
            )
        text = words.text(Random(0), _SAMPLE)
        if len(tokenizer.encode(text).ids) != _SAMPLE:
            raise ConfigError("this tokenizer merges words, so that no text of exact length can be made")
        return words

    def text(self, rng: Random, tokens: int) -> str:
        """A text of `tokens` words drawn by `rng`."""
        return "".join(rng.choices(self.choices, k=tokens))


def _single(tokenizer: ChatTokenizer) -> Iterator[str]:
    """Tokens that are a blank and letters, and are found again in their own text."""
    for token in range(tokenizer.vocab_size):
        text = tokenizer.decode([token])
        is_word = text.startswith(" ") and text.isascii() and text[1:].isalpha()
        if is_word and tokenizer.encode(text).ids == (token,):
            yield text
