"""The HTML report of a command."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from ragcache.evaluation.answers import Answer
from ragcache.evaluation.html import render
from ragcache.evaluation.summary import against, summarise


def page(answers: Sequence[Answer], model: str, title: str) -> str:
    """Table and curves, with differences to full recompute where it was run."""
    compared = any(answer.policy == "full" for answer in answers)
    return render(
        summarise(answers),
        title=title,
        model=model,
        created=created_now(),
        command=command_line(),
        differences=against(answers) if compared else (),
    )


def created_now() -> str:
    """The time, for the head of a report."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def command_line() -> str:
    """The command that runs, as it was typed."""
    return shlex.join(["ragcache", *sys.argv[1:]])
