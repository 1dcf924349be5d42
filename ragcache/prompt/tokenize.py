"""From a prompt to token ids and the affix spans among them.

The whole rendered prompt is tokenised once, and spans are found afterwards: the ids never depend on
what is marked, registered or cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from ragcache.errors import ConfigError
from ragcache.prompt.chat_tokenizer import ChatTokenizer, Encoding
from ragcache.prompt.core import find_core, token_range
from ragcache.prompt.parts import Prompt
from ragcache.prompt.rendered import CharSpan, Rendered, SkippedMark
from ragcache.prompt.span_index import NOTHING, SpanIndex


@dataclass(frozen=True)
class AffixSpan:
    """An affix in the prompt, and which of its tokens can be served from its page.

    The page is built from `token_ids`, the affix encoded alone. Its tokens
    `core_start .. core_start + tokens` stand at `start .. start + tokens` in the prompt.
    """

    name: str
    text: str
    token_ids: tuple[int, ...]
    start: int
    core_start: int
    tokens: int


@dataclass(frozen=True)
class SkippedSpan:
    """An affix that will be recomputed: where it is, how many prompt tokens it touches, and why."""

    name: str
    start: int
    tokens: int
    reason: str


@dataclass(frozen=True)
class TokenizedPrompt:
    """The ids the model reads; `spans` and `skipped` are sorted by start, `spans` are disjoint."""

    token_ids: tuple[int, ...]
    spans: tuple[AffixSpan, ...]
    skipped: tuple[SkippedSpan, ...]

    @property
    def tokens(self) -> int:
        """Length of the prompt in tokens."""
        return len(self.token_ids)


def tokenize(
    prompt: Prompt | str,
    tokenizer: ChatTokenizer,
    *,
    registered: SpanIndex = NOTHING,
    min_tokens: int = 8,
) -> TokenizedPrompt:
    """Render, tokenise, and find the reusable spans. A plain `str` is one user message.

    Marks count first; elsewhere in the messages the texts of `registered` are found by exact search. Affixes
    under `min_tokens` tokens are skipped. Raises `InputError` for messages that cannot be rendered,
    `ConfigError` for `min_tokens` under 1, `CheckpointError` for a broken template.
    """
    if min_tokens < 1:
        raise ConfigError(f"min_tokens must be at least 1, not {min_tokens}.")
    rendered = tokenizer.render(Prompt.user(prompt) if isinstance(prompt, str) else prompt)
    encoding = tokenizer.encode_rendered(rendered)
    encode_once = cache(tokenizer.encode)
    # No tokenizer makes more tokens than a text has bytes: shorter texts need no search.
    found = _search(rendered, registered, min_bytes=min_tokens)
    results = [_resolve(span, encoding, encode_once, min_tokens) for span in (*rendered.affix_spans, *found)]
    results += (_lost(mark, encoding) for mark in rendered.skipped)
    results.sort(key=lambda span: span.start)
    return TokenizedPrompt(
        encoding.ids,
        tuple(span for span in results if isinstance(span, AffixSpan)),
        tuple(span for span in results if isinstance(span, SkippedSpan)),
    )


def _search(rendered: Rendered, registered: SpanIndex, min_bytes: int) -> Iterator[CharSpan]:
    for start, end in _unmarked(rendered):
        for name, a, b in registered.find(rendered.text, start, end, min_bytes):
            yield CharSpan(name, rendered.text[a:b], a, b)


def _unmarked(rendered: Rendered) -> Iterator[tuple[int, int]]:
    """The characters of each message's content between its marks."""
    for start, end in rendered.content_spans:
        at = start
        for span in rendered.affix_spans:
            if start <= span.start < end:
                yield at, span.start
                at = span.end
        yield at, end


def _resolve(
    span: CharSpan, prompt: Encoding, encode: Callable[[str], Encoding], min_tokens: int
) -> AffixSpan | SkippedSpan:
    own = encode(span.text)
    if len(own.ids) < min_tokens:
        return _skip(span, prompt, f"shorter than {min_tokens} tokens")
    core = find_core(prompt, own, span)
    if core.tokens * 2 < len(own.ids):
        return _skip(span, prompt, "context changes its tokens")
    return AffixSpan(span.name, span.text, own.ids, core.start, core.core_start, core.tokens)


def _skip(span: CharSpan, prompt: Encoding, reason: str) -> SkippedSpan:
    first, last = token_range(prompt, span.start, span.end)
    return SkippedSpan(span.name, first, last - first, reason)


def _lost(mark: SkippedMark, prompt: Encoding) -> SkippedSpan:
    first, _ = token_range(prompt, mark.start, mark.start)
    return SkippedSpan(mark.name, first, 0, mark.reason)
