"""Text at ingest."""

from __future__ import annotations

import time

from ragcache.text import normalise


def test_line_ends_blanks_and_composition() -> None:
    assert normalise("a \t\r\n b\r\n\n  \rc\u0301 ") == "a\n b\n\n\n\u0107"
    assert normalise("") == ""


def test_a_long_run_of_blanks_takes_linear_time() -> None:
    text = "a" + " " * 200_000 + "b"
    started = time.perf_counter()
    assert normalise(text) == text
    assert time.perf_counter() - started < 5
