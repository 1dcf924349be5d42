"""The terminal side of `ragcache chat`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from rich.console import Console

from ragcache.cli.answer_view import affix_table, worth
from ragcache.cli.output import complain, console
from ragcache.errors import EngineError, InputError
from ragcache.pipelines.rag.conversation import Conversation, Reply

HELP = "Ask about the documents. /why: what was reused, /new: forget the conversation, /quit: leave."
PROMPT = "> "


def talk(conversation: Conversation) -> None:
    """Read questions and print answers until /quit, the end of the input, or Ctrl-C at the prompt."""
    out = console()
    if out.is_terminal:
        out.print(HELP, style="dim")
    last: Reply | None = None
    while (line := _read(out)) is not None and line != "/quit":
        if line == "/new":
            conversation.turns.clear()
            last = None
        elif line == "/why":
            _why(out, last)
        elif line.startswith("/"):
            out.print(HELP, style="dim")
        elif line:
            last = _ask(out, conversation, line) or last


def _read(out: Console) -> str | None:
    """A line without blanks around it; None when there is no more."""
    try:
        return out.input(PROMPT if out.is_terminal else "").strip()
    except (EOFError, KeyboardInterrupt):
        return None


def _ask(out: Console, conversation: Conversation, question: str) -> Reply | None:
    """Print the answer as it comes; None when there was none, which is said."""
    try:
        reply = _printed(out, conversation.ask(question))
    except KeyboardInterrupt:
        out.print()
        complain("warning", "stopped; the question is not kept")
        return None
    except (InputError, EngineError) as error:  # the next question may do better
        complain("error", str(error))
        return None
    _about(out, reply)
    return reply


def _printed(out: Console, pieces: Generator[str, None, Reply]) -> Reply:
    """Print the pieces; stopped early, nothing goes on behind."""
    with closing(pieces):
        while True:
            try:
                out.print(next(pieces), end="", style="bold")
            except StopIteration as end:
                reply: Reply = end.value
                return reply


def _about(out: Console, reply: Reply) -> None:
    """What the answer was read from, and what was left out of the prompt."""
    completion = reply.answer.completion
    out.print("" if completion.text else "(the model gave no answer)")
    reuse = completion.reuse
    sources = ", ".join(hit.chunk.name for hit in reply.answer.sources)
    out.print(f"  {sources}; {reuse.reused} of {reuse.prompt_tokens} tokens reused", style="dim")
    if reply.left_out:
        turns = f"{reply.left_out} earlier turn{'s' * (reply.left_out > 1)}"
        complain("warning", f"{turns} did not fit the window and were left out; /new starts afresh")


def _why(out: Console, last: Reply | None) -> None:
    if last is None:
        out.print("nothing was answered yet", style="dim")
        return
    out.print(affix_table(last.answer.completion))
    out.print(worth(last.answer.completion))
