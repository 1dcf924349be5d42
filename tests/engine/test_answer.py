"""Streaming and stopping: append-only, nothing past a stop string, nothing taken back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from itertools import pairwise
from queue import SimpleQueue

import pytest
from engine.asks import RIVER, ask, ask_about

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Engine, LoadedModel, Request
from ragcache.engine.answer import AnswerReader, Pieces
from ragcache.errors import ConfigError, PromptTooLongError
from ragcache.prompt import ChatTokenizer

BLOCKS = DecodingOptions(max_tokens=24, block_length=4)
REQUEST = ask_about(RIVER, options=BLOCKS)


class Letters:
    """Decodes the ids of code points; bytes of a split character as U+FFFD."""

    def decode(self, ids: list[int]) -> str:
        return bytes(ids).decode(errors="replace")


def reader(*stop: str) -> AnswerReader:
    letters: ChatTokenizer = Letters()  # type: ignore[assignment]
    return AnswerReader(letters, frozenset({0}), stop)


def streamed(engine: Engine, request: Request) -> tuple[list[str], Completion]:
    def collect() -> Iterator[str]:
        nonlocal completion
        completion = yield from engine.stream(request)

    completion: Completion
    pieces = list(collect())
    return pieces, completion


def grown(answer: AnswerReader, text: str) -> list[str]:
    ids = list(text.encode())
    return [answer.streamable(ids[:count]) for count in range(len(ids) + 1)]


def test_pieces_join_to_the_text_and_come_block_by_block(bare: Engine) -> None:
    pieces, completion = streamed(bare, REQUEST)
    assert "".join(pieces) == completion.text == bare.generate([REQUEST])[0].text
    assert len(pieces) > 2
    assert all(pieces)


def test_every_stop_string_cuts_before_its_first_occurrence(bare: Engine) -> None:
    text = bare.generate([REQUEST])[0].text
    for at in range(3, len(text) - 3):
        stop = (text[at : at + 3], text[-2:])
        pieces, completion = streamed(bare, replace(REQUEST, stop=stop))
        cut = min(text.index(s) for s in stop)
        assert "".join(pieces) == completion.text == text[:cut].strip()
        assert completion.finish_reason == "stop"


def test_a_stop_token_ends_the_answer_and_saves_the_later_blocks(model: LoadedModel, bare: Engine) -> None:
    whole = bare.generate([REQUEST])[0]
    last = whole.token_ids[5]
    with Engine(replace(model, stop_ids=frozenset({last}))) as engine:
        (completion,) = engine.generate([REQUEST])
    assert completion.token_ids == whole.token_ids[: whole.token_ids.index(last)]
    assert (whole.finish_reason, completion.finish_reason) == ("length", "stop")
    assert completion.forwards < whole.forwards


def test_a_stream_left_early_cancels_its_request(bare: Engine) -> None:
    stream = bare.stream(ask("go on", options=DecodingOptions(max_tokens=64, block_length=1)))
    next(stream)
    stream.close()
    assert bare.generate([ask("next")])[0].completion_tokens > 0


def test_pieces_end_with_none_whatever_becomes_of_the_request(bare: Engine) -> None:
    told: SimpleQueue[str | None] = SimpleQueue()
    future = bare.submit_pieces(REQUEST, told.put)
    assert "".join(iter(told.get, None)) == future.result(60).text  # type: ignore[arg-type]
    ends: list[str | None] = []
    pieces = Pieces(ends.append)
    cancelled, failed = Future[Completion](), Future[Completion]()
    cancelled.cancel()
    failed.set_exception(ConfigError("no"))
    for ended in (cancelled, failed):
        pieces.finish(ended)
    assert ends == [None, None]


def test_a_stream_raises_the_requests_error(bare: Engine) -> None:
    with pytest.raises(PromptTooLongError):
        list(bare.stream(ask("x" * 400)))


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(ConfigError, match="stop"):
        ask("hello", stop=("",))


def test_what_may_begin_a_stop_string_is_held_back() -> None:
    shown = grown(reader("END"), "the EN the END of")
    assert shown[len("the EN")] == "the"
    assert "the EN the" in shown
    assert shown[-1] == "the EN the"


@pytest.mark.parametrize("text", ["a b\n\nc \n ", "  lead", "café ☕ é\n", "\n\n", "a\ufffd"])
def test_the_stream_is_append_only_and_ends_within_the_answer(text: str) -> None:
    shown = grown(reader("\n\nQ"), text)
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))
    final = reader("\n\nQ").read(list(text.encode())).text.strip()
    assert final.startswith(shown[-1])


def test_text_before_a_stop_string_is_streamed_without_its_blanks() -> None:
    assert reader("Q:").streamable(list(b"yes \nQ: next")) == "yes"


def test_a_stop_token_before_a_stop_string_wins() -> None:
    answer = reader("c").read([*b"ab", 0, *b"c"])
    assert (answer.text, answer.tokens, answer.ended) == ("ab", 2, True)
