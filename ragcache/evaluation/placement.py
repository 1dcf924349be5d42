"""Where an example's documents stand: before, around, or after the question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ragcache.errors import ConfigError
from ragcache.prompt import Affix, Prompt
from ragcache.prompt.parts import Part
from ragcache.prompt.rag import SYSTEM, rag_prompt

Place = Callable[[str, Sequence[Affix]], Prompt]


def _joined(documents: Sequence[Affix]) -> list[Part]:
    parts: list[Part] = []
    for document in documents:
        parts += ["\n\n", document] if parts else [document]
    return parts


def _infix(question: str, documents: Sequence[Affix]) -> Prompt:
    """Request text on both sides."""
    ask = f"\n\nAnswer this question: {question}"
    return Prompt.user("Documents:\n\n", *_joined(documents), ask, system=SYSTEM)


def _suffix(question: str, documents: Sequence[Affix]) -> Prompt:
    """The question first."""
    return Prompt.user(f"Question: {question}\n\n", *_joined(documents), system=SYSTEM)


def _mixed(question: str, documents: Sequence[Affix]) -> Prompt:
    """The question in the middle of the documents."""
    half = (len(documents) + 1) // 2
    first, rest = _joined(documents[:half]), _joined(documents[half:])
    ask = f"\n\nQuestion: {question}\n\n" if rest else f"\n\nQuestion: {question}"
    return Prompt.user(*first, ask, *rest, system=SYSTEM)


PLACEMENTS: Mapping[str, Place] = MappingProxyType(
    {"prefix": rag_prompt, "infix": _infix, "suffix": _suffix, "mixed": _mixed}
)


def placement_named(name: str) -> Place:
    """How to assemble a prompt. Raises `ConfigError` naming the known placements."""
    if name not in PLACEMENTS:
        raise ConfigError(f"unknown placement {name!r}; known: {', '.join(PLACEMENTS)}")
    return PLACEMENTS[name]
