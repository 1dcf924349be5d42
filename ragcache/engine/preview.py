"""What a request would reuse, before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragcache.prompt import AffixSpan, SkippedSpan, TokenizedPrompt

SectionStatus = Literal["hit", "missing", "skipped", "fresh"]
_SHOWN = 60  # characters of a section's text
RECOMPUTED = "the policy recomputes everything"


@dataclass(frozen=True)
class Section:
    """A run of prompt tokens: in the affix `name`, or in none ("").

    `hit`: its page is stored; `missing`: it would be encoded now; `skipped`: recomputed, for the `reason`;
    `fresh`: in no affix. `text` is that of the tokens, without special ones.
    """

    text: str
    start: int
    tokens: int
    status: SectionStatus
    name: str = ""
    reason: str = ""

    def __str__(self) -> str:
        text = " ".join(self.text.split())
        shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
        name = f" {self.name}" if self.name else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.start:6} {self.tokens:6} {self.status:8}{name}{reason}: {shown}"


@dataclass(frozen=True)
class Preview:
    """A prompt cut into sections, in order and without gaps; `window` is what the model has, in tokens.

    `answer_tokens` is the length of the canvas. As text: a line a section, with start and length in tokens.
    """

    sections: tuple[Section, ...]
    answer_tokens: int
    window: int
    policy: str

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        return sum(section.tokens for section in self.sections)

    @property
    def over(self) -> int:
        """Tokens by which prompt and answer exceed the window; 0 if they fit."""
        return max(0, self.prompt_tokens + self.answer_tokens - self.window)

    def affixes(self, *statuses: SectionStatus) -> tuple[Section, ...]:
        """The sections with one of `statuses`."""
        return tuple(section for section in self.sections if section.status in statuses)

    def __str__(self) -> str:
        over = f", {self.over} over its window of {self.window}" if self.over else ""
        head = f"{self.prompt_tokens} prompt tokens, {self.answer_tokens} to answer{over}; {self.policy}"
        return "\n".join([head, *map(str, self.sections)])


def sections_of(
    prompt: TokenizedPrompt,
    stored: Collection[tuple[int, ...]] | None,
    decode: Callable[[Sequence[int]], str],
) -> Iterator[Section]:
    """The sections of `prompt`; `stored` are the token ids of affixes with a page, None without reuse."""
    at = 0
    spans: list[AffixSpan | SkippedSpan] = [*prompt.spans, *prompt.skipped]
    for span in sorted(spans, key=lambda span: span.start):
        start, stop = max(at, span.start), max(at, span.start + span.tokens)
        if start > at:
            yield Section(decode(prompt.token_ids[at:start]), at, start - at, "fresh")
        status, reason = _status(span, stored)
        text = decode(prompt.token_ids[start:stop])
        yield Section(text, start, stop - start, status, span.name, reason)
        at = stop
    if at < prompt.tokens:
        yield Section(decode(prompt.token_ids[at:]), at, prompt.tokens - at, "fresh")


def _status(
    span: AffixSpan | SkippedSpan, stored: Collection[tuple[int, ...]] | None
) -> tuple[SectionStatus, str]:
    if isinstance(span, SkippedSpan):
        return "skipped", span.reason
    if stored is None:
        return "skipped", RECOMPUTED
    return ("hit" if span.token_ids in stored else "missing"), ""
