"""The page in a real browser: everything is laid out, readable and in reach, on a phone and on a desk."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from ragcache.pipelines.explain.page import render

from .samples import view

pytestmark = pytest.mark.browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PROBE = (Path(__file__).parent / "probe.js").read_text(encoding="utf-8")
# A selector, and how many elements of `sample` it finds.
EXPECTED = {
    ".frame": 3,
    ".frame .text": 3,
    "mark": 6,
    ".band a": 3,
    ".split span": 3,
    ".versus .track span": 2,
    ".scale i": 5,
    ".steps li": 5,
    ".steps .track span": 5,
    ".steps .new": 5,
    ".steps .mask": 2,
    "#prompt .chip": 3,
    ".strip svg": 1,
    "#numbers": 1,
}
VIEWS = [(width, scheme) for width in (400, 1280) for scheme in ("light", "dark")]
# Headless windows have a least width; frames do not, and each may have a colour scheme of its own.
HARNESS = """<!DOCTYPE html><meta charset="utf-8">{frames}<script>
const results = {{}}, frames = [...document.querySelectorAll("iframe")];
addEventListener("message", ({{ data, source }}) => {{
  results[frames.find((frame) => frame.contentWindow === source).id] = data;
  if (Object.keys(results).length === frames.length) document.title = JSON.stringify(results);
}});
addEventListener("load", () => frames.forEach((frame) => frame.contentWindow.postMessage({selectors}, "*")));
</script>"""
STYLE = "width:{0}px;height:900px;border:0;color-scheme:{1}"
FRAME = f'<iframe id="{{0}}-{{1}}" src="page.html" style="{STYLE}"></iframe>'


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed (apt-get install chromium)")
    return found


def probed(page: str) -> str:
    """The page with the probe in its head, and the policy changed by nothing but the probe's digest."""
    digest = b64encode(sha256(PROBE.encode()).digest()).decode()
    page = page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    return page.replace("<title>", f"<script>{PROBE}</script><title>", 1)


@pytest.fixture(scope="module")
def seen(browser: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the probe measured, by width and colour scheme; `console` is what the browser complained of."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "page.html").write_text(probed(render(view())), encoding="utf-8")
    frames = "".join(FRAME.format(*each) for each in VIEWS)
    harness = folder / "harness.html"
    harness.write_text(HARNESS.format(frames=frames, selectors=json.dumps([*EXPECTED])), encoding="utf-8")
    command = [browser, "--headless=new", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    command += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=4000", harness.as_uri()]
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    title = re.search("<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title, f"the browser gave no result: {done.stderr[-2000:]}"
    result: dict[str, Any] = json.loads(unescape(title[1]))
    return result | {"console": [line for line in done.stderr.splitlines() if "CONSOLE" in line]}


@pytest.fixture(params=VIEWS, ids=lambda each: f"{each[0]}-{each[1]}")
def measured(request: pytest.FixtureRequest, seen: dict[str, Any]) -> dict[str, Any]:
    width, scheme = request.param
    found: dict[str, Any] = seen[f"{width}-{scheme}"]
    assert found["faults"] == []
    assert (found["width"], found["dark"]) == (width, scheme == "dark")
    return found


def test_the_console_stays_silent(seen: dict[str, Any]) -> None:
    assert seen["console"] == []


def test_everything_is_laid_out(measured: dict[str, Any]) -> None:
    expected = {selector: {"all": n, "laid_out": n} for selector, n in EXPECTED.items()}
    assert measured["counts"] == expected


def test_nothing_is_wider_than_the_window(measured: dict[str, Any]) -> None:
    assert measured["sticking_out"] == []
    overflows = [measured[name] for name in ("overflow", "overflow_with_numbers", "overflow_with_table")]
    assert overflows == [0, 0, 0]


def test_all_text_stands_out_from_its_ground(measured: dict[str, Any]) -> None:
    assert measured["pale"] == []


def test_influence_is_told_without_a_mouse_over(measured: dict[str, Any]) -> None:
    marks = len(view().marks)
    assert measured["clicked"].startswith("é influence 8, rank 2 of 6")
    assert measured["clicked"].endswith("in café.md")
    assert measured["pressed"].startswith("c influence 9, rank 1 of 6")
    assert (measured["escaped"], measured["tab_stops"]) == ("", 1)
    assert re.fullmatch(r'"\d+(\.\d)?"', measured["number"])
    assert measured["rows"] == marks == 6


def test_line_ends_are_line_breaks(seen: dict[str, Any]) -> None:
    wide = seen["1280-light"]  # three short lines, one of them empty
    assert 3 <= wide["text_height"] / wide["line_height"] < 4
