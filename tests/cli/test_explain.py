"""`ragcache explain`: the page it writes, and what it refuses before any work."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from .conftest import Result, Run

pytestmark = pytest.mark.usefixtures("words")
Explain = Callable[..., Result]
QUESTION = "What does the <b>Kavra</b> kettle cost?"


@pytest.fixture
def html(tmp_path: Path) -> Path:
    return tmp_path / "out.html"


@pytest.fixture
def explain(run: Run, model: Path, docs: Path, store: Path, html: Path) -> Explain:
    """Explains; keywords replace the usual options."""

    def explain(question: str = QUESTION, *flags: str, **changed: object) -> Result:
        options = {"docs": docs, "model": model, "store": store, "max_tokens": 8, "html": html, "top_k": 2}
        words = [w for k, v in (options | changed).items() for w in (f"--{k.replace('_', '-')}", v)]
        return run("explain", question, *words, *flags)

    return explain


def test_the_page_shows_prompt_anchors_and_steps(explain: Explain, html: Path) -> None:
    result = explain()
    assert result.code == 0, result.err
    page = html.read_text(encoding="utf-8")
    (summary,) = re.findall(r"^\d+ prompt tokens: .*", result.out, re.MULTILINE)
    assert summary in page
    assert f"page: {html}" in result.out
    marked = sum(map(int, re.findall(r'<mark [^>]*data-tokens="(\d+)"', page)))
    assert f"{marked} recomputed as anchors" in summary
    assert marked > 0
    plain = unescape(re.sub("<[^>]+>", "", page))
    assert "The Kavra kettle costs forty crowns and is blue." in plain
    assert QUESTION in plain
    assert page.count('class="frame built"') == 3
    assert 'class="probe"' in page
    assert "full recompute</dt>" in page


def test_the_second_time_the_affixes_are_hits(explain: Explain, html: Path) -> None:
    explain()
    explain()
    assert html.read_text(encoding="utf-8").count('class="frame hit"') == 3


@pytest.mark.parametrize("policy", ["full", "direct"])
def test_policies_without_anchors(explain: Explain, html: Path, policy: str) -> None:
    assert explain(policy=policy).code == 0
    page = html.read_text(encoding="utf-8")
    assert f"No token is an anchor under the policy {policy}." in page
    assert "<mark" not in page


def test_without_comparison(explain: Explain, html: Path) -> None:
    explain(QUESTION, "--no-compare")
    assert "full recompute</dt>" not in html.read_text(encoding="utf-8")


@pytest.mark.parametrize(("code", "warned"), [(0, False), (3, True)])
def test_open_shows_the_page(
    explain: Explain, html: Path, monkeypatch: pytest.MonkeyPatch, code: int, warned: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("typer.launch", lambda url: opened.append(url) or code)
    result = explain(QUESTION, "--open")
    assert result.code == 0
    assert opened == [html.as_uri()]
    assert ("no browser could be started" in result.err) is warned


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"html": "no/such/folder/out.html"}, "there is no folder"),
        ({"html": "."}, "a folder; name a file"),
        ({"html": "x" * 300}, "File name too long"),
        ({"docs": "nowhere"}, "nowhere: no such file or folder"),
        ({"policy": "full", "budget": 0.5}, "give one"),
        ({"policy": "magic"}, "unknown policy 'magic'"),
        ({"budget": 1.5}, "budget 1.5 lies outside 0..1"),
        ({"top_k": 0}, "--top-k must be at least 1"),
        ({"model": "no-such-model"}, "unknown model 'no-such-model'"),
        ({"question": " "}, "the question is empty"),
    ],
    ids=str,
)
def test_bad_input(explain: Explain, html: Path, options: dict[str, object], part: str) -> None:
    result = explain(**options)  # type: ignore[arg-type]
    assert (result.code, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert line.startswith("error: ")
    assert part in line
    assert not html.exists()


def test_a_page_that_cannot_be_written_is_told_before_any_work(
    explain: Explain, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("documents were read")

    monkeypatch.setattr("ragcache.pipelines.rag.documents.load_documents", fail)
    assert "--html" in explain(html=".").err
    assert not store.exists()


def test_a_former_page_survives_a_question_that_fails(explain: Explain, html: Path) -> None:
    html.write_text("former")
    assert explain(" ").code == 2
    assert html.read_text() == "former"
    assert explain().code == 0
    assert html.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_html_is_required(run: Run, docs: Path) -> None:
    result = run("explain", QUESTION, "--docs", docs)
    assert result.code == 2
    assert "--html" in result.err
