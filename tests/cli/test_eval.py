"""`ragcache eval`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragcache.engine.loaded_model import load_fingerprint
from ragcache.engine.profiles import Profiles

from .conftest import TEXTS, Run

pytestmark = pytest.mark.usefixtures("words")
LINE = {"question": "What colour is the kettle?", "docs": [TEXTS["kettle.md"]], "answer": "blue"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps(LINE) for _ in range(3)))
    return path


def test_own_data_gives_one_row_a_policy(run: Run, data: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    found = run("eval", "--data", data, "--model", model, "--n", 2, "--json", "--out", out).json
    assert json.loads(out.read_text()) == found
    assert [row["policy"] for row in found["rows"]] == ["full", "direct", "qa@0.2"]
    assert all((row["dataset"], row["n"]) == ("mine", 2) for row in found["rows"])
    assert {"em", "em_low", "em_high", "f1", "agreement", "kl", "refresh_s"} <= set(found["rows"][0])
    full, direct, anchors = found["rows"]
    assert full["agreement"] == 1.0
    assert full["live_rows"] == 1.0 > anchors["live_rows"] > direct["live_rows"] > 0.0


def test_people_see_a_table(run: Run, data: Path, model: Path) -> None:
    result = run("eval", "--data", data, "--model", model, "--policy", "direct")
    assert result.err == ""
    header, row = result.out.splitlines()
    assert header.split()[:5] == ["dataset", "policy", "placement", "codec", "n"]
    assert header.split()[-5:] == ["forwards", "probe_ms", "refresh_ms", "total_ms", "read"]
    assert row.split()[:5] == ["mine", "direct", "prefix", "raw", "3"]
    assert row.count("[") == 2  # exact match and F1 have intervals
    assert "-" in row.split()  # without full there is nothing to agree with


def test_what_is_named_twice_is_run_once(run: Run, data: Path, model: Path) -> None:
    options = ("--policy", "direct,acache@1,direct,full", "--placement", "prefix,prefix", "--n", 1, "--json")
    rows = run("eval", "--data", data, "--model", model, *options).json["rows"]
    assert [row["policy"] for row in rows] == ["full", "direct"]


def test_auto_is_reported_as_what_it_stands_for(
    run: Run, data: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGCACHE_PROFILES", str(tmp_path / "profiles"))
    journal = tmp_path / "journal.jsonl"
    options = ("--data", data, "--model", model, "--n", 1, "--journal", journal, "--json")
    _, fingerprint = load_fingerprint(str(model))
    found = []
    for chosen in ("acache@0.5", "full"):
        Profiles().write(fingerprint, "policy", {"policy": chosen})
        rows = run("eval", *options, "--policy", "full,auto").json["rows"]
        found.append([row["policy"] for row in rows])
    assert found == [["full", "acache@0.5"], ["full"]]


def test_codecs_are_an_axis(run: Run, data: Path, model: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    options = ("--data", data, "--model", model, "--policy", "full,direct", "--n", 1, "--journal", journal)
    rows = run("eval", *options, "--codec", "raw,int8", "--json").json["rows"]
    assert [(row["policy"], row["codec"]) for row in rows] == [
        ("full", "raw"), ("direct", "raw"), ("direct", "int8")
    ]  # fmt: skip
    assert rows[2]["kl"] != rows[1]["kl"]
    more = run("eval", *options, "--codec", "int8, int4", "--json").json["rows"]
    assert [row["codec"] for row in more] == ["raw", "int8", "int4"]
    assert more[1] == rows[2]  # out of the journal


def test_generated_data(run: Run) -> None:
    options = ("--dataset", "single", "--n", 1, "--policy", "direct", "--json")
    [row] = run("eval", *options).json["rows"]
    assert (row["dataset"], row["n"], row["policy"]) == ("single", 1, "direct")


def test_questions_about_a_folder(run: Run, docs: Path, model: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"question": LINE["question"], "answer": "blue"}))
    options = ("--questions", questions, "--docs", docs, "--model", model, "--top-k", 1, "--policy", "direct")
    [row] = run("eval", *options, "--json").json["rows"]
    assert (row["dataset"], row["n"]) == ("docs", 1)
    assert row["live_rows"] < 1


def test_an_interrupted_run_goes_on_and_counts_nothing_twice(
    run: Run, data: Path, model: Path, tmp_path: Path
) -> None:
    journal = tmp_path / "journal.jsonl"
    options = ("eval", "--data", data, "--model", model, "--policy", "full,direct", "--json")
    whole = run(*options).json
    run(*options, "--journal", journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:4]) + lines[4][:20])  # stopped while it wrote
    again = run(*options, "--journal", journal).json
    timeless = [
        [
            {k: v for k, v in row.items() if k not in ("probe_s", "refresh_s", "total_s", "bytes_read")}
            for row in found["rows"]
        ]
        for found in (whole, again)
    ]
    assert timeless[0] == timeless[1]
    assert len(journal.read_bytes().splitlines()) == 1 + 6


def test_a_journal_of_other_questions_is_refused(run: Run, data: Path, model: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    options = ("--model", model, "--policy", "direct", "--journal", journal)
    run("eval", "--data", data, *options, "--n", 1)
    result = run("eval", "--data", data, *options, "--n", 2)
    assert result.code == 2
    assert "choose another file or delete it" in result.err


def test_the_page_shows_every_policy(run: Run, data: Path, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "report.html"
    options = ("--policy", "full,direct,acache@0.5", "--placement", "prefix,suffix", "--html", page)
    result = run("eval", "--data", data, "--model", model, "--n", 1, *options)
    assert result.err == ""
    text = page.read_text()
    assert all(name in text for name in ("acache@0.5", "direct", "suffix"))


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--dataset", "magic"), "Unknown dataset 'magic'"),
        (("--policy", "full,magic"), "unknown policy 'magic'"),
        (("--model", "no-such"), "unknown model"),
        (("--data", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
        (("--data", "a", "--dataset", "single"), "exclude each other"),
        (("--questions", "a"), "belong together"),
        (("--docs", "a"), "belong together"),
        (("--out", "no/such/rows.json"), "there is no folder"),
        (("--out", "."), "a folder; name a file"),
        (("--html", "."), "a folder; name a file"),
        (("--placement", "above"), "unknown placement 'above'"),
        (("--cache", "triple"), "unknown cache mode 'triple'"),
        (("--codec", "raw,zip"), "unknown codec 'zip'"),
    ],
    ids=str,
)
def test_bad_options(run: Run, options: tuple[str, ...], part: str) -> None:
    result = run("eval", "--n", 1, *options)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert part in result.err


def test_bad_lines_are_named(run: Run, data: Path) -> None:
    data.write_text(json.dumps(LINE) + "\n" + json.dumps({**LINE, "docs": "text"}))
    result = run("eval", "--data", data)
    assert result.code == 2
    assert "mine.jsonl, line 2: field 'docs'" in result.err


def test_prompts_that_do_not_fit_are_named(run: Run, data: Path, model: Path) -> None:
    data.write_text(json.dumps(LINE) + "\n" + json.dumps({**LINE, "docs": ["zebra " * 300]}))
    result = run("eval", "--data", data, "--model", model)
    assert (result.code, result.out) == (2, "")
    assert "example 2: " in result.err


def test_a_file_that_cannot_be_written_costs_no_work(run: Run, data: Path, model: Path) -> None:
    options = ("--policy", "direct", "--json", "--out", "x" * 300)
    result = run("eval", "--data", data, "--model", model, *options)
    assert result.code == 2
    assert result.out == ""
    assert "cannot be written" in result.err
