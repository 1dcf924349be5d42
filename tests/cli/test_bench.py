"""`ragcache bench` on the tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

SMALL = ("--prompt", 160, "--canvas", 8, "--block", 4, "--requests", 2, "--batch", 2, "--device", "cpu")


def test_json_compares_every_system_with_dual(run: Run, model: Path, tmp_path: Path) -> None:
    out, html = tmp_path / "bench.json", tmp_path / "bench.html"
    files = ("--out", out, "--html", html)
    done = run("bench", "doc-qa", "--model", model, "--systems", "acache@0.2", "--json", *SMALL, *files)
    assert (done.code, done.err) == (0, "")
    dual, anchors = done.json["rows"]
    assert (dual["system"], dual["refresh_ratio"], dual["throughput_ratio"]) == ("dual", 1.0, 1.0)
    assert anchors["system"] == "acache@0.2"
    assert anchors["live_row_fraction"] < 0.5
    assert anchors["hit_rate"] == 1.0
    assert done.json["load"]["workload"]["prompt"] == 160
    assert json.loads(out.read_text()) == done.json
    assert "<svg" in html.read_text()


def test_the_table_names_systems_and_the_roofline(run: Run, model: Path) -> None:
    done = run("bench", "long", "--model", model, "--systems", "direct", "--rate", 100, *SMALL)
    assert done.code == 0
    lines = done.out.splitlines()
    assert "long: 2 requests, 100 a second, batch 2; prompts of up to 160 tokens" in lines[0]
    assert [line.split()[0] for line in lines[3:5]] == ["dual", "direct"]
    assert lines[5].startswith("roofline: full refreshes of 168 rows")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("chat",), "unknown workload 'chat'; known: doc-qa, rag, agents, long"),
        (("rag", "--systems", "magic"), "unknown system 'magic'"),
        (("rag", "--model", "random:huge"), "random:huge is no size"),
        (("rag", "--batch", 0), "batch must be at least 1, not 0"),
        (("rag", "--requests", 0), "requests must be at least 1, not 0"),
        (("rag", "--rate", 0), "a rate of 0 requests a second"),
        (("rag", "--rate", -2), "a rate of -2 requests a second"),
        (("rag", "--prompt", 10), "a prompt of 10 tokens is too short"),
        (("rag", "--out", "/nowhere/at/all.json"), "there is no folder"),
        (("rag", "--model", "nano"), "over the model's window"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: tuple[object, ...], said: str) -> None:
    done = run("bench", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert len(done.err.splitlines()) == 1
