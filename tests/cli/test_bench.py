"""`ragcache bench` on the tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reference.compiler import needs_compiler

from .conftest import WINDOW, Run

LOAD = ("--canvas", 8, "--block", 4, "--requests", 2, "--batch", 2, "--device", "cpu")
SMALL = ("--prompt", 160, "--texts", "words", *LOAD)


def test_json_compares_every_system_with_dual(run: Run, model: Path, tmp_path: Path) -> None:
    out, html = tmp_path / "bench.json", tmp_path / "bench.html"
    files = ("--out", out, "--html", html)
    done = run("bench", "doc-qa", "--model", model, "--systems", "acache@0.2", "--json", *SMALL, *files)
    assert (done.code, done.err) == (0, "")
    dual, anchors = done.json["rows"]
    assert dual["system"] == "dual"
    assert (dual["refresh_ratio"], dual["throughput_ratio"]) == pytest.approx((1.0, 1.0))
    assert anchors["system"] == "acache@0.2"
    assert anchors["live_row_fraction"] < 0.5
    assert anchors["hit_rate"] == 1.0
    assert done.json["load"]["workload"]["prompt"] == 160
    assert anchors["em"] is None
    assert anchors["same"] == 1.0
    assert json.loads(out.read_text()) == done.json
    assert "<svg" in html.read_text()


def test_the_table_names_systems_and_the_roofline(run: Run, model: Path) -> None:
    done = run("bench", "long", "--model", model, "--systems", "direct", "--rate", 100, *SMALL)
    assert done.code == 0
    lines = done.out.splitlines()
    assert "long: 2 requests, 100 a second, batch 2; prompts of up to 160 tokens of words" in lines[0]
    assert lines[2].split()[-1] == "dual"  # no exact match: words have no answers
    assert [line.split()[0] for line in lines[3:5]] == ["dual", "direct"]
    assert lines[-1].startswith("roofline: full refreshes of 168 rows")


def test_a_model_that_can_answer_is_asked_for_facts_and_scored(run: Run) -> None:
    done = run("bench", "long", "--model", "nano", "--systems", "dual", "--prompt", 1000, "--json", *LOAD)
    assert (done.code, done.err) == (0, "")
    [dual] = done.json["rows"]
    assert dual["em"] in (0.0, 0.5, 1.0)
    assert done.json["load"]["texts"] == "facts"


@needs_compiler
def test_layers_are_compiled_for_all_systems(run: Run, model: Path) -> None:
    done = run("bench", "long", "--model", model, "--systems", "direct", "--compile", "--json", *SMALL)
    assert (done.code, done.err) == (0, "")
    assert done.json["compiled"] is True
    assert [row["same"] for row in done.json["rows"]] == [1.0, 1.0]


def test_without_a_prompts_length_it_is_what_the_window_leaves(run: Run, model: Path) -> None:
    done = run("bench", "long", "--model", model, "--systems", "dual", "--json", "--texts", "words", *LOAD)
    assert done.json["load"]["workload"]["prompt"] == WINDOW - 8


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
        (("rag", "--model", "nano", "--prompt", 4096, "--texts", "words"), "over the model's window"),
        (("rag", "--model", "nano", "--canvas", 2000), "give a smaller --canvas, or another workload"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: tuple[object, ...], said: str) -> None:
    done = run("bench", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert len(done.err.splitlines()) == 1
