"""Small requests for engine tests."""

from __future__ import annotations

from typing import Any

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Request
from ragcache.prompt import Affix, Part, Prompt
from ragcache.reuse.policy import ReusePolicy

RIVER = "The river is long and wide; the town near the river is old.\n"
TOWN = "The harbour of the town lies near the old bridge, where the ferry lands.\n"
SHORT = DecodingOptions(max_tokens=16, block_length=8)


def ask(*content: Part, options: DecodingOptions = SHORT, budget: float = 0.2, **fields: Any) -> Request:
    """A user message of `content`."""
    return Request(Prompt.user(*content), options, policy=ReusePolicy(budget=budget), **fields)


def ask_about(*texts: str, question: str = "How long is the river?", **fields: Any) -> Request:
    """A question behind marked documents, called doc0, doc1, ..."""
    parts: list[Part] = []
    for number, text in enumerate(texts):
        parts += [Affix(f"doc{number}", text), "\n"]
    return ask(*parts, question, **fields)
