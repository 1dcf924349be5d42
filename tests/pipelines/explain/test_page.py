"""The page as a parser reads it: nothing escapes into markup, nothing is loaded, nothing is lost."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from ragcache.pipelines.explain.page import render
from ragcache.pipelines.explain.view import Explanation

from .samples import NASTY, sample, view

VOID = {"meta", "link", "input", "img", "br", "hr"}


@dataclass
class Element:
    """A tag with its attributes, the elements in it, and all text below it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.inside:
            yield from child.walk()

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        wanted = {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.walk()
            if tag in ("", element.tag)
            and all(value in (element.attributes.get(name) or "").split() for name, value in wanted.items())
        ]


class Page(HTMLParser):
    """Builds elements; a tag left open or closed twice is an error."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(html)
        self.close()
        assert self.open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def parse(seen: Explanation) -> Element:
    return Page(render(seen)).root


@pytest.fixture(scope="module")
def page() -> Element:
    return parse(view())


def test_marks_hold_all_anchors_with_their_influence(page: Element) -> None:
    completion, trace = sample()
    marks = page.all("mark")
    assert sum(int(mark.attributes["data-tokens"] or 0) for mark in marks) == len(trace.anchors)
    assert completion.reuse.recomputed == len(trace.anchors)
    assert [mark.text for mark in marks] == ["c", "é", "à", "\n", "\n", "🍵"]
    assert re.fullmatch(
        r"influence 9, rank 1 of 6, \d+ % of all influence", marks[0].attributes["title"] or ""
    )
    assert all(re.fullmatch(r"\d+(\.\d)?", mark.attributes["data-n"] or "") for mark in marks)


def test_frames_show_the_texts_as_they_are(page: Element) -> None:
    frames = page.all("section", class_="frame")
    assert [frame.attributes["class"] for frame in frames] == ["frame hit", "frame built", "frame skipped"]
    assert [frame.all("div", class_="text")[0].text for frame in frames] == [
        "Answer from the documents.",
        "Le café ouvre à 6 h.\n\nLe thé 🍵 coûte 2 €.",
        NASTY,
    ]
    headers = [frame.all("header")[0].text for frame in frames]
    assert "hit 26 tokens" in headers[0]
    assert "7 anchors" in headers[1]
    assert f"{NASTY}.md" in headers[2]
    assert "shorter than 999 tokens" in headers[2]


def test_special_tokens_are_chips(page: Element) -> None:
    chips = Counter(chip.text for chip in page.all(id="prompt")[0].all("span", class_="chip"))
    assert chips == {"start": 2, "end": 1}


@pytest.mark.parametrize("text", [NASTY, '"><svg/onload=alert(1)>', "{{ 7*7 }}{% raw %}", "</style></title>"])
def test_texts_of_users_stay_text(text: str) -> None:
    usual = Counter(element.tag for element in parse(view("x")).walk())
    seen = replace(view("x", question="x"), question=text, answer=text, model=text)
    page = parse(seen)
    assert Counter(element.tag for element in page.walk()) == usual
    assert page.all("h1")[0].text == text
    assert page.all("title")[0].text.startswith(text)
    assert page.all("p", class_="answer")[0].text == text
    assert [e for e in page.walk() if any(name.startswith("on") for name in e.attributes)] == []


def test_nothing_is_loaded(page: Element) -> None:
    for element in page.walk():
        assert element.tag not in {"img", "iframe", "object", "embed", "base", "form", "audio", "video"}
        assert not {"src", "srcset", "data", "action", "background"} & element.attributes.keys()
        link = element.attributes.get("href") or "#"
        assert link.startswith("data:" if element.tag == "link" else "#")
    style = page.all("style")[0].text
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = page.all("meta", http_equiv="Content-Security-Policy")
    rules = (policy.attributes["content"] or "").split("; ")
    digest = b64encode(sha256(page.all("script")[0].text.encode()).digest()).decode()
    assert {"default-src 'none'", "img-src data:", f"script-src 'sha256-{digest}'"} <= set(rules)


def test_links_lead_somewhere_and_ids_are_unique(page: Element) -> None:
    ids = Counter(e.attributes["id"] for e in page.walk() if "id" in e.attributes)
    assert set(ids.values()) == {1}
    for element in page.walk():
        for name in ("href", "aria-labelledby", "aria-describedby"):
            target = element.attributes.get(name) or ""
            if target and not target.startswith("data:"):
                assert target.removeprefix("#") in ids


def test_the_table_lists_every_anchor_by_rank(page: Element) -> None:
    rows = page.all("tbody")[0].all("tr")
    assert [row.all("td")[0].text for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert [row.all("td")[1].text for row in rows] == ["c", "é", "à", "↵", "↵", "🍵"]
    assert {row.all("td")[2].text for row in rows} == {"café.md"}


def test_steps_tell_rows_seconds_and_commits(page: Element) -> None:
    steps = page.all("ol", class_="steps")[0].all("li")
    assert [step.attributes["class"] for step in steps] == [
        "probe",
        "refresh",
        "refine",
        "refresh",
        "refine",
    ]
    assert "80 of " in steps[0].text
    assert "5.0 ms" in steps[1].text
    assert "3 committed" in steps[1].text
    assert [cell.text for cell in steps[2].all("span", class_="new")] == ["À"]
    assert [mask.attributes["aria-label"] for mask in steps[1].all("span", class_="mask")] == ["2 masked"]
    assert "end \u00d7 2" in re.sub(r"\s", " ", steps[4].text)


def test_summary_and_comparison(page: Element) -> None:
    seen = view()
    assert page.all("p", class_="summary")[0].text == seen.summary
    assert "3.0 times as fast." in page.text
    assert "Encoding what the store did not hold yet took 50.0 ms, once." in page.text
    unmeasured = parse(view(full_s=0))
    assert len(unmeasured.all("dt")) == 1
    assert "times as fast" not in unmeasured.text


def test_a_request_without_anchors_says_so() -> None:
    bare = parse(replace(view(), marks=(), policy="direct"))
    assert "No token is an anchor under the policy direct." in bare.text
    assert bare.all("table") == []
    assert bare.all("svg") == []


def test_anchors_without_scores() -> None:
    page = parse(view(scored=False))
    assert {mark.attributes["title"] for mark in page.all("mark")} <= {"anchor", "anchor (2 tokens)"}
    assert len(page.all("tbody")[0].all("tr")) == 6


def test_control_characters_can_be_seen() -> None:
    page = parse(view("a\x00\x1b[1mb\nc"))
    assert page.all("p", class_="answer")[0].text == "a␀␛[1mb\nc"


def test_no_answer() -> None:
    assert "The model gave no answer." in parse(replace(view(), answer="")).text
