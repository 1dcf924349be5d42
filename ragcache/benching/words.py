"""Texts of an exact number of tokens: words that are one token each, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from random import Random

from ragcache.benching.texts import Asking, Document
from ragcache.errors import ConfigError
from ragcache.prompt import Affix, ChatTokenizer, Prompt
from ragcache.prompt.parts import Part

MOST = 2000  # words; enough to tell any two texts apart
LEAST = 2
_SAMPLE = 200  # words that are tried together


@dataclass(frozen=True)
class Words:
    """`choices` are words with the blank before them, each one token of a tokenizer. Lengths are exact."""

    choices: tuple[str, ...]

    @classmethod
    def of(cls, tokenizer: ChatTokenizer) -> Words:
        """The first words of a vocabulary. Raises `ConfigError` where there are none, or they merge."""
        words = cls(tuple(islice(_single(tokenizer), MOST)))
        if len(words.choices) < LEAST:
            raise ConfigError(
                "this tokenizer has no two words of one token each, which texts of exact length need; "
                "bench another model, or with --texts facts"
            )
        text = words.text(Random(0), _SAMPLE)
        if len(tokenizer.encode(text).ids) != _SAMPLE:
            raise ConfigError(
                "this tokenizer merges words, so that no text of exact length can be made; "
                "bench another model, or with --texts facts"
            )
        return words

    def text(self, rng: Random, tokens: int) -> str:
        """A text of `tokens` words drawn by `rng`."""
        return "".join(rng.choices(self.choices, k=tokens))

    def documents(self, rng: Random, lengths: Sequence[int]) -> list[Document]:
        """See `Texts`. Nothing can be asked about them."""
        return [Document(Affix(f"text {n}", self.text(rng, tokens))) for n, tokens in enumerate(lengths)]

    def asking(self, rng: Random, documents: Sequence[Document], fresh: int) -> Asking:
        """See `Texts`. Gaps of varying length before, between and after them; read without a template."""
        gaps = composition(rng, fresh, len(documents) + 1)
        parts: list[Part] = [self.text(rng, gaps[0])]
        for document, gap in zip(documents, gaps[1:], strict=True):
            parts += [document.affix, self.text(rng, gap)]
        return Asking(Prompt.plain(*parts))


def composition(rng: Random, tokens: int, parts: int) -> list[int]:
    """`tokens` in `parts` parts of 1 or more, all ways being equally likely."""
    cuts = [0, *sorted(rng.sample(range(1, tokens), parts - 1)), tokens]
    return [stop - start for start, stop in pairwise(cuts)]


def _single(tokenizer: ChatTokenizer) -> Iterator[str]:
    """Tokens that are a blank and letters, and are found again in their own text."""
    for token in range(tokenizer.vocab_size):
        text = tokenizer.decode([token])
        is_word = text.startswith(" ") and text.isascii() and text[1:].isalpha()
        if is_word and tokenizer.encode(text).ids == (token,):
            yield text
