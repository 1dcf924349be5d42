"""Bars by system, and points with the line through them, as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from ragcache.evaluation.drawing import COLOURS, inline, new_figure


@dataclass(frozen=True)
class Bars:
    """One panel of a chart: a value by name. `marks` are drawn as lines across the bars, such as limits."""

    title: str
    values: Mapping[str, float]
    marks: Mapping[str, float] = field(default_factory=dict)


def bar_chart(panels: Sequence[Bars], label: str) -> Markup:
    """An `<svg>` of `panels` side by side; their names stand at the first. Raises as `new_figure`."""
    with new_figure(label) as figure:
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for panel, own in zip(panels, axes, strict=True):
            names, places = list(panel.values), range(len(panel.values))
            own.barh(places, list(panel.values.values()), color=COLOURS[0], height=0.6)
            for name, mark in panel.marks.items():
                at = names.index(name)
                own.vlines(mark, at - 0.4, at + 0.4, color=COLOURS[1], linewidth=2)
            own.set(xlabel=panel.title, yticks=places, yticklabels=names)
            own.grid(visible=False, axis="y")
        axes[0].invert_yaxis()
        return inline(figure, label)


def line_chart(
    points: Sequence[tuple[float, float]], line: tuple[float, float], titles: tuple[str, str], label: str
) -> Markup:
    """An `<svg>` of `points` and the line (slope, intercept) through them. Raises as `new_figure`."""
    with new_figure(label) as figure:
        own = figure.subplots()
        across = [x for x, _ in points]
        own.plot(across, [y for _, y in points], linestyle="", marker="o", color=COLOURS[0])
        ends = [0.0, max(across)]
        own.plot(ends, [line[1] + line[0] * x for x in ends], color=COLOURS[1], linewidth=1.2)
        own.set(xlabel=titles[0], ylabel=titles[1], xlim=(0, None), ylim=(0, None))
        return inline(figure, label)
