"""Prompts: ordered parts in, token ids with reusable spans out."""

from ragcache.prompt.chat_tokenizer import ChatTokenizer, Encoding
from ragcache.prompt.parts import Affix, Message, Part, Prompt
from ragcache.prompt.rendered import CharSpan, Rendered, SkippedMark
from ragcache.prompt.span_index import NOTHING, SpanIndex
from ragcache.prompt.tokenize import AffixSpan, SkippedSpan, TokenizedPrompt, tokenize
from ragcache.text import normalise

__all__ = [
    "NOTHING",
    "Affix",
    "AffixSpan",
    "CharSpan",
    "ChatTokenizer",
    "Encoding",
    "Message",
    "Part",
    "Prompt",
    "Rendered",
    "SkippedMark",
    "SkippedSpan",
    "SpanIndex",
    "TokenizedPrompt",
    "normalise",
    "tokenize",
]
