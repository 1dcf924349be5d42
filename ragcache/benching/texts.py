"""What prompts are made of. Two kinds: words without meaning, and facts with questions about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from ragcache.prompt import Affix, Prompt


@dataclass(frozen=True)
class Document:
    """A text that prompts name, and questions that it answers, each with its answer."""

    affix: Affix
    questions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Asking:
    """A prompt, and the answer to its question where it has one."""

    prompt: Prompt
    answer: str | None = None


class Texts(Protocol):
    """Makes documents, and prompts that name some of them."""

    def documents(self, rng: Random, lengths: Sequence[int]) -> list[Document]:
        """One of at most so many tokens for each of `lengths`. Raises `ConfigError` for one too short."""
        ...

    def asking(self, rng: Random, documents: Sequence[Document], fresh: int) -> Asking:
        """A prompt that names `documents` in this order, with at most `fresh` tokens of its own around them.

        Raises `ConfigError` where these are too few.
        """
        ...
