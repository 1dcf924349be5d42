"""The report as a page: whole, safe, alone."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ragcache.errors import InputError, MissingDependencyError
from ragcache.evaluation.charts import budget_of, styles
from ragcache.evaluation.html import render
from ragcache.evaluation.summary import Difference, Row

BAD = "<script>alert('$x^$')</script>"
FULL = Row(
    "single",
    "full",
    "",
    40,
    0.9,
    0.8,
    1.0,
    0.95,
    0.9,
    1.0,
    1.0,
    1.0,
    1.0,
    0.0,
    1.0,
    9.0,
    400,
    0.0,
    0.2,
    1.5,
    0,
    None,
)
ROWS = [
    FULL,
    replace(FULL, policy="direct", em=0.3, em_low=0.2, em_high=0.4, refresh_s=0.05, bytes_read=3 * 2**20),
    replace(FULL, policy="acache@0.2", refresh_s=0.1, kl=0.0123),
    replace(FULL, policy="acache@0.05", refresh_s=0.1, agreement=None, kl=None),
    replace(FULL, dataset="two_hop", policy="depth+acache@0.2"),
    replace(FULL, dataset="two_hop", policy="magic"),
]
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks nesting; collects elements by tag, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: dict[str, list[dict[str, str | None]]] = {}
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.setdefault(tag, []).append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.setdefault(tag, []).append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data.strip())


def page(rows: list[Row], **changes: object) -> str:
    about = {"title": "Report", "model": "nano", "created": "2025-01-01", "command": "ragcache eval"}
    return render(rows, **{**about, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def report() -> str:
    pytest.importorskip("matplotlib")
    return page(ROWS)


def test_it_is_whole_and_shows_everything(report: str) -> None:
    parsed = Page(report)
    assert parsed.open == []
    assert {"Report", "nano", "2025-01-01", "ragcache eval"} <= set(parsed.text)
    assert {row.dataset for row in ROWS} | {row.policy for row in ROWS} <= set(parsed.text)
    assert {"0.900", "0.800–1.000", "0.0123", "3.0 MiB", "200.0"} <= set(parsed.text)  # noqa: RUF001
    assert not {"placement", "codec"} & set(parsed.text)  # nothing was placed, and all pages were raw


def test_it_needs_nothing_else(report: str) -> None:
    parsed = Page(report)
    assert not {"script", "link", "img", "iframe", "object"} & parsed.found.keys()
    for elements in parsed.found.values():
        for attributes in elements:
            for name in ("src", "href", "xlink:href"):
                assert (attributes.get(name) or "#").startswith("#")
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", report))
    assert "@import" not in report
    assert "default-src 'none'" in report


def test_every_data_set_has_a_chart_that_is_described(report: str) -> None:
    charts = Page(report).found["svg"]
    assert [chart["role"] for chart in charts] == ["img", "img"]
    assert charts[0]["aria-label"].startswith("single: ")  # type: ignore[union-attr]
    assert charts[1]["aria-label"].startswith("two_hop: ")  # type: ignore[union-attr]
    assert all(f">{line}</text>" in report for line in ("acache", "direct", "full", "depth+acache"))
    assert "not measured: needs the policy full" in report  # two_hop has no full


def test_no_id_is_used_twice(report: str) -> None:
    ids = [e["id"] for elements in Page(report).found.values() for e in elements if "id" in e]
    assert len(ids) == len(set(ids)) > 0
    assert {
        name for name in re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', report) for name in name if name
    } <= {*ids}


def test_it_is_the_same_every_time(report: str) -> None:
    assert page(ROWS) == report


def test_the_users_matplotlib_settings_stay_out(report: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"lines.linewidth": 9, "axes.facecolor": "black", "svg.fonttype": "path"}):
        assert page(ROWS) == report


def test_names_are_text() -> None:
    pytest.importorskip("matplotlib")
    rows = [replace(FULL, dataset=BAD, placement=BAD), replace(FULL, dataset=BAD, policy=BAD)]
    text = page(rows, title=BAD, model=BAD, created=BAD, command=BAD)
    assert "<script" not in text
    assert Page(text).text.count(BAD) == 8  # the title twice, four about the run, and one of each name
    assert "<figcaption>&lt;script" in text


def test_placements_groups_and_differences_have_columns() -> None:
    pytest.importorskip("matplotlib")
    rows = [replace(FULL, placement="infix", consistent=0.625), replace(FULL, placement="suffix")]
    gap = Difference("single", "full", "infix", "magic", 40, -0.0004, -0.1, 0.2)
    parsed = Page(page(rows, differences=[gap]))
    assert {"placement", "infix", "suffix", "consistent", "0.625"} <= set(parsed.text)
    assert {"− magic’s", "+0.000", "-0.100 to +0.200"} <= set(parsed.text)  # noqa: RUF001
    assert len(parsed.found["svg"]) == 2


def test_codecs_have_a_column_and_lines_of_their_own() -> None:
    pytest.importorskip("matplotlib")
    rows = [FULL, *(replace(FULL, policy="acache@0.2", codec=codec) for codec in ("raw", "int8"))]
    gap = Difference("single", "acache@0.2", "", "full", 40, -0.5, -0.6, -0.4, "int8")
    text = page(rows, differences=[gap])
    assert {"codec", "raw", "int8"} <= set(Page(text).text)
    assert text.count("-0.600 to -0.400") == 1
    assert all(f">{line}</text>" in text for line in ("acache", "acache int8", "full"))
    assert len(Page(text).found["svg"]) == 1


def test_without_matplotlib_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "ragcache-dllm\[report\]"'):
        page(ROWS)
    assert "<svg" not in page([replace(FULL, policy="magic")])  # nothing to draw


def test_no_rows_make_no_report() -> None:
    with pytest.raises(InputError, match="no rows"):
        page([])


@pytest.mark.parametrize(
    ("policy", "budget"),
    [
        ("direct", ("direct", 0.0)),
        ("full", ("full", 1.0)),
        ("acache@0.2", ("acache", 0.2)),
        ("depth+acache@0.05", ("depth+acache", 0.05)),
        ("random@1", ("random", 1.0)),
        ("adaptive@0.9", None),  # a share of influence
        ("mass+adaptive@0.7", None),
        ("acache", None),
        ("acache@", None),
        ("@0.2", None),
        ("acache@1.5", None),
        ("acache@nan", None),
        ("acache@0.2.1", None),
        ("<b>@0.2", None),
        ("", None),
    ],
)
def test_budgets(policy: str, budget: tuple[str, float] | None) -> None:
    assert budget_of(policy) == budget


def test_lines_differ_in_colour_and_marker() -> None:
    looks = styles([replace(FULL, policy=f"{letter}@0.5") for letter in "abcdefg"])
    assert len({look.colour for look in looks.values()}) == len({look.marker for look in looks.values()}) == 7
