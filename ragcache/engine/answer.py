"""From answer ids to text: stop tokens, stop strings, and what may be streamed already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from ragcache.engine.request import Completion
from ragcache.prompt import ChatTokenizer


@dataclass(frozen=True)
class AnswerText:
    """The text so far. `ended` is True once a stop token or stop string was seen; `tokens` excludes it."""

    text: str
    tokens: int
    ended: bool


@dataclass(frozen=True)
class AnswerReader:
    """Reads finished answer ids; a token of `stop_ids` or the first `stop` string ends the answer."""

    tokenizer: ChatTokenizer
    stop_ids: frozenset[int]
    stop: tuple[str, ...]

    def read(self, ids: Sequence[int]) -> AnswerText:
        """Cut `ids` at the first stop token, decode, cut at the first stop string, strip."""
        tokens = next((i for i, token in enumerate(ids) if token in self.stop_ids), len(ids))
        text = self.tokenizer.decode(ids[:tokens]).lstrip()
        found = [at for at in (text.find(s) for s in self.stop) if at >= 0]
        ended = tokens < len(ids) or bool(found)
        return AnswerText(text[: min(found)] if found else text, tokens, ended)

    def streamable(self, ids: Sequence[int]) -> str:
        """The part of the text that no later block can change or take back."""
        answer = self.read(ids)
        text = answer.text
        if not answer.ended:
            text = text.rstrip("\ufffd")  # a character may be split over two blocks
            held = max((_overlap(text, s) for s in self.stop), default=0)
            text = text[: len(text) - held]
        return text.rstrip()  # blanks at the end of the whole answer are stripped


@dataclass
class Pieces:
    """Hands an answer that grows to `put` in append-only pieces, and None after the last."""

    put: Callable[[str | None], None]
    sent: int = 0

    def grow(self, text: str) -> None:
        """The answer so far is `text`."""
        if len(text) > self.sent:
            self.put(text[self.sent :])
            self.sent = len(text)

    def finish(self, future: Future[Completion]) -> None:
        """The request is done, for better or worse."""
        if not future.cancelled() and future.exception() is None:
            self.grow(future.result().text)
        self.put(None)


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that begins `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
