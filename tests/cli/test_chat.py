"""`ragcache chat`: answers from a pipe as in a terminal, and what goes wrong in between."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from ragcache.engine import Engine

from .conftest import Result, Run

Chat = Callable[..., Result]


@pytest.fixture
def chat(
    run: Run, docs: Path, model: Path, store: Path, words: None, monkeypatch: pytest.MonkeyPatch
) -> Chat:
    """Runs `ragcache chat` on lines of input."""

    def chat(*lines: str, options: tuple[object, ...] = ()) -> Result:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(line + "\n" for line in lines)))
        common = ("--docs", docs, "--model", model, "--store", store, "--max-tokens", 8, "--top-k", 1)
        return run("chat", *common, *options)

    return chat


def test_a_conversation_reuses_documents_and_turns(chat: Chat) -> None:
    result = chat("When does the harbour of Ostermoor open?", "/why", "When does the harbour open?", "/why")
    assert result.code == 0
    first, second = result.out.split("harbour.md; ")[1:]
    assert "question 1" not in first
    for name in ("ragcache/system", "harbour.md", "question 1"):
        assert name in second
    [line] = [line for line in second.splitlines() if line.startswith("question 1")]
    assert "built" in line
    assert [line.split()[2] for line in second.splitlines() if line.startswith("harbour.md")] == ["hit"]


def test_commands(chat: Chat) -> None:
    result = chat("/why", "/help", "What colour is the kettle?", "/new", "/why", "", "/quit", "never read")
    assert result.code == 0
    assert result.out.count("nothing was answered yet") == 2
    assert "/new: forget the conversation" in result.out
    assert result.out.count("tokens reused") == 1


def test_old_turns_are_left_out_and_it_is_said(chat: Chat) -> None:
    long = "What colour is the kettle? " * 10
    result = chat(long, long)
    assert "1 earlier turn did not fit the window" in " ".join(result.err.split())
    assert result.out.count("tokens reused") == 2


def test_what_cannot_be_asked_does_not_end_it(chat: Chat) -> None:
    result = chat("why? " * 400, "What colour is the kettle?")
    assert result.code == 0
    assert "over the model's window" in result.err
    assert result.out.count("tokens reused") == 1


def test_ctrl_c_stops_the_answer_only(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    submit, asked = Engine.submit, []

    def interrupted(self: Engine, *arguments: object) -> object:
        asked.append(1)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return submit(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "submit", interrupted)
    result = chat("What colour is the kettle?", "Who designed the lamp?")
    assert "the question is not kept" in result.err
    assert result.out.count("tokens reused") == 1


def test_usage_errors(chat: Chat) -> None:
    result = chat("hello", options=("--policy", "magic"))
    assert (result.code, "unknown policy" in result.err) == (2, True)
