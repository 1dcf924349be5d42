"""The registry benchmark runs, small, and says what it measured and what it missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks.codec_errors import measure
from benchmarks.figures import Figure, turns
from benchmarks.registry import main
from ragcache.page import Page
from ragcache.registry import CODECS


def test_the_last_line_holds_every_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    main(tokens=1, entries=3, repeats=1, folder=tmp_path)
    torch.set_num_threads(threads)
    out = capsys.readouterr().out
    found = json.loads(out.splitlines()[-1])
    assert (found["affix_bytes"], found["entries"], found["repeats"]) == (2**19, 3, 1)
    numbers = [value for name, value in found.items() if name.endswith(")")]
    assert len(numbers) == 16
    assert all(value > 0 for value in numbers)
    assert [row["codec"] for row in found["codecs"]] == list(CODECS)
    assert all(f"cold load, {name}" in out for name in CODECS)
    assert list(tmp_path.iterdir()) == []


def test_a_missed_target_is_said() -> None:
    assert Figure("speed", 0.79, "x", 0.8).met == "no"
    assert Figure("speed", 0.8, "x", 0.8).met == "yes"
    assert Figure("time", 101.0, "us", 100.0, at_most=True).met == "no"
    assert Figure("time", 5.0, "ms").met == ""


def test_the_first_round_does_not_count() -> None:
    seconds = iter([100.0, 1.0, 3.0, 2.0])
    assert turns(3, one=lambda: next(seconds)) == {"one": 2.0}


def test_errors_are_those_of_the_codec() -> None:
    page = Page(torch.arange(4), (torch.randn(2, 4, 8),), (torch.randn(2, 4, 8),), {0: torch.randn(4, 16)})
    raw, int8 = (measure(CODECS[name], [page]) for name in ("raw", "int8"))
    assert (raw.size, raw.keys, raw.values, raw.hidden) == (1.0, 0.0, 0.0, 0.0)
    assert 0 < int8.keys < 0.02
    given, found = page.values[0].double(), CODECS["int8"].round_trip(page).values[0].double()
    assert int8.values == pytest.approx(float((given - found).norm() / given.norm()))
