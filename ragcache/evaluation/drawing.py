"""Figures of reports: matplotlib in one style, as inline SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from ragcache.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Told apart without colour too. Colours by Okabe and Ito (2008), less the yellow that paper swallows.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
_RC = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and scaled
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
}


@contextmanager
def new_figure(label: str) -> Iterator[Figure]:
    """A figure in the reports' own style, while it is drawn; `label` tells its ids from those of others.

    Raises `MissingDependencyError` without matplotlib.
    """
    try:
        import matplotlib.style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            'Charts need matplotlib. Run: pip install "ragcache-dllm[report]"'
        ) from error
    # The user's own matplotlib settings stay out of the report; the salt makes ids the same in every run.
    with matplotlib.style.context(["default", {**_RC, "svg.hashsalt": label}]):
        yield Figure(figsize=(9.0, 3.4), layout="constrained")


def inline(figure: Figure, label: str) -> Markup:
    """The figure as an element of an HTML page: no prolog, no metadata, and no id that another chart has."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1))
