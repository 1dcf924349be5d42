"""The page: one HTML file that needs nothing else, neither network nor scripts."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from ragcache import __version__
from ragcache.evaluation.templates import environment
from ragcache.pipelines.explain.figures import duration
from ragcache.pipelines.explain.marks import LEVELS
from ragcache.pipelines.explain.view import Explanation

_HERE = Path(__file__).parent
# Control characters would vanish or be errors in HTML; their pictures (U+2400 on) can be seen.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {0x7F: 0x2421}


def render(view: Explanation) -> str:
    """The page as HTML. Every text of the view is escaped; a content security policy forbids all requests."""
    templates = environment(__package__)
    templates.filters |= {"visible": _visible, "chip": _chip, "ms": duration, "percent": _percent}
    style, script = _source("explain.css"), _source("explain.js")
    return templates.get_template("explain.html.jinja").render(
        view=view,
        levels=LEVELS,
        version=__version__,
        icon=_ICON,
        style=Markup(style),
        script=Markup(script),
        script_digest=_digest(script),
    )


def _source(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _visible(text: str) -> str:
    return text.translate(_PICTURES)


def _chip(text: str) -> str:
    """A special token's name without its brackets."""
    return text.removeprefix("<|").removesuffix("|>") or text


def _percent(part: float) -> str:
    return f"{part * 100:.1f}" if part < 0.0995 else f"{part * 100:.0f}"


# An empty favicon would be asked for at the server the page lies on.
_ICON = "data:image/svg+xml," + quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M1 9h4v6H1z" fill="#d99a2b"/><path d="M6 1h4v14H6z" fill="#c2740c"/>'
    '<path d="M11 6h4v9h-4z" fill="#1c7c6c"/></svg>'
)
