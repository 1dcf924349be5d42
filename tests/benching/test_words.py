"""Words are one token each, in any company."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import cast

import pytest

from ragcache.benching.words import Words
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError
from ragcache.prompt import ChatTokenizer
from ragcache.prompt.chat_tokenizer import Encoding


def test_a_text_has_as_many_tokens_as_words(model: LoadedModel) -> None:
    words = Words.of(model.tokenizer)
    assert " river" in words.choices
    for tokens in (0, 1, 57):
        assert len(model.tokenizer.encode(words.text(Random(tokens), tokens)).ids) == tokens


@dataclass(frozen=True)
class Fake:
    """A tokenizer with the words `known`; texts of several of them have `joined` tokens fewer."""

    known: tuple[str, ...]
    joined: int = 0

    @property
    def vocab_size(self) -> int:
        return len(self.known)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.known[token] for token in ids)

    def encode(self, text: str) -> Encoding:
        ids = tuple(self.known.index(f" {word}") for word in text.split())
        kept = ids[self.joined :] if len(ids) > 1 else ids
        return Encoding(kept, tuple((0, 0) for _ in kept))


def test_a_tokenizer_without_words_is_refused() -> None:
    with pytest.raises(ConfigError, match="no two words of one token"):
        Words.of(cast(ChatTokenizer, Fake((" one", "x", " 12"))))


def test_a_tokenizer_that_merges_words_is_refused() -> None:
    with pytest.raises(ConfigError, match="merges words"):
        Words.of(cast(ChatTokenizer, Fake((" one", " two"), joined=1)))
