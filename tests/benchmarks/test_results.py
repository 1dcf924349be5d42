"""Tables and verdicts from rows made by hand."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.results import (
    ANCHORS,
    DEEPER,
    EXACT,
    app,
    deeper_lines,
    exact_line,
    policy_names,
    read_rows,
    verdicts,
)
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.summary import Row, summarise
from ragcache.reuse.policy import parse_policies

BASE = Answer(
    "single", "full", "prefix", 0, "Who?", "x", "x", (1,), 1.0, 1.0, 1.0, 0.0, 1.0, 2, 9, 0.0, 0.1, 0.2, 0
)  # fmt: skip


def row(policy: str, em: float, agreement: float) -> Row:
    """100 answers, of which the share `em` is right; every one agrees as much as the others."""
    right = [number < em * 100 for number in range(100)]
    return summarise(
        replace(BASE, policy=policy, index=index, em=float(ok), agreement=agreement)
        for index, ok in enumerate(right)
    )[0]


ROWS = [
    row("full", 0.8, 1.0),
    row("direct", 0.6, 0.7),
    row("random@0.2", 0.6, 0.75),
    row("qa@0.2", 0.78, 0.9),
]


def test_what_is_measured_can_be_parsed_and_has_no_twins() -> None:
    policies = parse_policies(",".join(policy_names()))
    assert len({policy.name for policy in policies}) == len(policy_names())
    assert {"full", "direct", "random@0.2"} <= set(policy_names())


def test_a_verdict_says_what_anchors_bring_back() -> None:
    found = verdicts(ROWS, "qa@0.2")
    assert found[:7] == ["single", "100", "0.800", "0.600", "0.780", "0.97", "90%"]
    assert found[-1] == "clear"
    near = [*ROWS[:3], row("qa@0.2", 0.8, 0.72)]
    assert verdicts(near, "qa@0.2")[-1] == "no"  # random agrees more


def test_a_small_loss_is_no_measure_of_regaining() -> None:
    rows = [row("full", 0.64, 1.0), *ROWS[1:]]
    assert verdicts(rows, "qa@0.2")[6] == "-"


def test_budget_1_is_full_only_if_every_token_is() -> None:
    same, other = (exact_line([*ROWS, row(EXACT, 0.8, share)]) for share in (1.0, 0.9999))
    assert same == ["single", "100", "0.800", "0.800", "1.0000", "yes"]
    assert other[-1] == "no"


def test_depth_stands_beside_plain_anchors() -> None:
    deeper = [replace(row(policy, 0.77, 0.88), refresh_s=0.06) for policy in DEEPER]
    found = deeper_lines([*ROWS, *deeper])
    assert [line[1] for line in found] == [*DEEPER]
    assert found[0] == ["single", f"depth=2+{ANCHORS}", "0.770", "-1.0", "0.880", "0.60"]


def test_the_report_of_all_policies_is_printed_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [row(policy, 0.7, 0.8 if policy != EXACT else 1.0) for policy in policy_names()]
    (tmp_path / "single.json").write_text(json.dumps({"rows": [asdict(r) for r in rows]}))
    page = tmp_path / "index.html"
    result = CliRunner().invoke(app, ["criteria", str(tmp_path), "--html", str(page)])
    assert result.exit_code == 0, result.output
    heads = [line for line in result.output.splitlines() if line.startswith("### ")]
    assert len(heads) == 10 + 2 + 1  # a verdict a criterion, budget 1 and depth, the table of the data set
    assert "| acache | 0.700 0.800 0.000 |" in result.output
    assert page.read_text().count("<svg") == 1


def test_caches_are_compared_file_by_file(tmp_path: Path) -> None:
    for name in ("dual", "dllm"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": [asdict(r) for r in ROWS]}))
    assert read_rows(tmp_path) == {"dllm": ROWS, "dual": ROWS}
    result = CliRunner().invoke(app, ["caches", str(tmp_path)])
    assert result.exit_code == 0
    assert [line.split(" | ")[0] for line in result.output.splitlines()[2:4]] == [
        "| dllm, full",
        "| dllm, direct",
    ]


def test_an_empty_folder_says_what_to_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["criteria", str(tmp_path)])
    assert result.exit_code == 2
    assert "make eval" in result.output


@pytest.mark.parametrize("policy", ["direct", "qa@0.2"])
def test_rows_survive_the_file(policy: str, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps({"rows": [asdict(r) for r in ROWS]}))
    [rows] = read_rows(tmp_path).values()
    assert next(r for r in rows if r.policy == policy) == next(r for r in ROWS if r.policy == policy)
