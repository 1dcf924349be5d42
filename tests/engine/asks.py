"""Small requests for engine tests, and what holds for every answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Request
from ragcache.prompt import Affix, Part, Prompt
from ragcache.reuse.policy import ReusePolicy, parse_policy

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


def ask_with(policy: str, *texts: str, **fields: Any) -> Request:
    """As `ask_about`, with a policy in its short form."""
    return replace(ask_about(*texts, **fields), policy=parse_policy(policy))


def check_sums(completion: Completion, prompt_tokens: int) -> None:
    """The report's counts add up to the prompt."""
    report = completion.reuse
    assert report.reused + report.recomputed + report.fresh == report.prompt_tokens == prompt_tokens
    assert report.recomputed == sum(use.anchors for use in report.affixes)
    used = [use for use in report.affixes if use.status != "skipped"]
    assert report.reused == sum(use.tokens - use.anchors for use in used)
