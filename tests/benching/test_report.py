"""The report as JSON, as lines, and as a page that needs nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from benching.made_up import ANCHORS, DUAL

from ragcache.benching.figures import rows_of
from ragcache.benching.load import Load
from ragcache.benching.report import Report
from ragcache.benching.roofline import Roofline
from ragcache.benching.scaling import Fit
from ragcache.benching.stored import Overhead
from ragcache.benching.workloads import DocQA

REPORT = Report(
    workload="doc-qa",
    model="<b>random</b>",
    parameters=149_422_080,
    dtype="bf16",
    device="cpu",
    threads=2,
    compiled=False,
    load=Load(DocQA()),
    rows=tuple(rows_of([DUAL, ANCHORS])),
    roofline=Roofline(3e10, 6e10, 4160, "bfloat16"),
)
FULL = replace(
    REPORT,
    fit=Fit.through("acache@0.2", (512, 8192), [(100.0, 0.1), (200.0, 0.2)]),
    overheads=(Overhead(10, 0.001), Overhead(10_000, 0.0012)),
)
FIELDS = {"system", "refresh_p50_s", "requests_per_s", "peak_kv_bytes", "live_row_fraction"}
RATIOS = {"refresh_ratio", "throughput_ratio", "kv_ratio"}


def test_json_has_the_promised_fields_and_leaves_out_what_was_not_measured() -> None:
    found = json.loads(json.dumps(REPORT.as_json()))
    assert all(row.keys() >= FIELDS | RATIOS for row in found["rows"])
    assert [row["system"] for row in found["rows"]] == ["dual", "acache@0.2"]
    assert found["load"]["workload"] == {"prompt": 4096, "share": 0.9, "documents": 8}
    assert found["roofline"]["share"] == 0.5
    assert found.keys().isdisjoint({"scaling", "stored"})
    assert [one["affixes"] for one in FULL.as_json()["stored"]] == [10, 10_000]
    assert FULL.as_json()["stored_ratio"] == pytest.approx(1.2)
    assert FULL.as_json()["scaling"]["r2"] == 1.0
    assert found["rows"][0]["em"] is None
    assert found["rows"][0]["refines"]["batch_ratio"] == 1.8


def test_compiled_layers_are_named_wherever_the_dtype_is() -> None:
    compiled = replace(REPORT, compiled=True)
    assert (REPORT.as_json()["compiled"], compiled.as_json()["compiled"]) == (False, True)
    assert (REPORT.computed, compiled.computed) == ("bf16", "bf16, compiled")
    assert "bf16, compiled on cpu" in compiled.html(created="", command="")


def test_exact_match_has_a_column_only_where_answers_are_known() -> None:
    scored = replace(REPORT, rows=(replace(REPORT.rows[0], em=0.75),))
    assert "<td>0.750</td>" in scored.html(created="", command="")
    assert "exact" not in REPORT.html(created="", command="")


def test_lines_say_the_roofline_and_the_fits() -> None:
    assert len(REPORT.lines()) == 2
    batching, roofline, fit, stored = FULL.lines()
    assert batching.startswith("refines of a batch of 8 / single ones: dual 1.80 (7.5 together, 100% the")
    assert "30.0 GFLOP/s" in roofline
    assert roofline.endswith("0.50")
    assert "0.0 ms + 1000.0 us a live row, R^2 1.0000, at most 0% off" in fit
    assert fit.endswith("over prompts of 512, 8192 tokens")
    assert stored.endswith("1.00 with 10, 1.20 with 10000: 1.20 times")


def test_the_page_is_whole_escaped_and_alone() -> None:
    page = FULL.html(created="2025-01-01", command="ragcache bench <doc-qa>")
    assert page.count("<svg") == 2
    assert "<b>" not in page
    assert "&lt;b&gt;random" in page
    assert "--" not in re.findall(r"<td>(.*?)</td>", page)
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "<script" not in page
    assert "url(http" not in page
    assert page == FULL.html(created="2025-01-01", command="ragcache bench <doc-qa>")
    for row in FULL.rows:
        assert f'class="name">{row.system}</th>' in page


def test_without_a_fit_there_is_one_picture() -> None:
    assert REPORT.html(created="", command="").count("<svg") == 1
