"""Accuracy and refresh time against budget, as inline SVG."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ragcache.evaluation.drawing import COLOURS, inline, new_figure
from ragcache.evaluation.summary import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POLICY = re.compile(r"([A-Za-z][\w+.-]*)@([0-9.]+)", re.ASCII)
_ENDS = {"direct": 0.0, "full": 1.0}
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class Style:
    """How one line looks in every chart of a report."""

    colour: str
    marker: str


def budget_of(policy: str) -> tuple[str, float] | None:
    """The line of a chart and the place on it: `("qa", 0.2)` for `qa@0.2`.

    `direct` lies at 0, `full` at 1, each a line of its own; None for a policy without a budget in 0..1, such
    as `adaptive@0.9`, whose number is a share of influence.
    """
    if policy in _ENDS:
        return policy, _ENDS[policy]
    match = _POLICY.fullmatch(policy)
    if match and match[1].split("+")[-1] == "adaptive":
        return None
    try:
        budget = float(match[2]) if match else -1.0
    except ValueError:
        return None
    return (match[1], budget) if match and 0.0 <= budget <= 1.0 else None


def line_of(row: Row) -> tuple[str, float] | None:
    """As `budget_of` the row's policy; a codec other than raw makes it a line of its own."""
    found = budget_of(row.policy)
    return found if found is None or row.codec == "raw" else (f"{found[0]} {row.codec}", found[1])


def styles(rows: Sequence[Row]) -> dict[str, Style]:
    """A style for every line that `rows` hold, in order of first appearance."""
    lines = dict.fromkeys(found[0] for row in rows if (found := line_of(row)))
    return {
        line: Style(COLOURS[i % len(COLOURS)], _MARKERS[i % len(_MARKERS)]) for i, line in enumerate(lines)
    }


def chart(rows: Sequence[Row], looks: Mapping[str, Style], label: str) -> Markup | None:
    """An `<svg>` of the rows of one data set and placement, or None where none has a budget.

    `label` describes it to who cannot see it. Raises `MissingDependencyError` without matplotlib.
    """
    lines = _lines(rows)
    if not lines:
        return None
    with new_figure(label) as figure:
        accuracy, time = figure.subplots(1, 2)
        _draw_accuracy(accuracy, lines, looks)
        _draw_time(time, lines, looks)
        handles, names = accuracy.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 6), frameon=False)
        return inline(figure, label)


def _lines(rows: Sequence[Row]) -> dict[str, list[tuple[float, Row]]]:
    """Points (budget, row) of every line, by rising budget."""
    lines: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        if found := line_of(row):
            lines.setdefault(found[0], []).append((found[1], row))
    return {line: sorted(points, key=lambda point: point[0]) for line, points in lines.items()}


def _draw_accuracy(
    axes: Axes, lines: Mapping[str, Sequence[tuple[float, Row]]], looks: Mapping[str, Style]
) -> None:
    for line, points in lines.items():
        budgets = [budget for budget, _ in points]
        low, high = [row.em_low for _, row in points], [row.em_high for _, row in points]
        axes.plot(budgets, [row.em for _, row in points], label=line, **_look(looks[line]))
        axes.fill_between(budgets, low, high, color=looks[line].colour, alpha=0.15, linewidth=0)
        axes.vlines(budgets, low, high, color=looks[line].colour, alpha=0.6, linewidth=1)
    if "full" in lines:
        axes.axhline(lines["full"][0][1].em, color="#555555", linestyle=":", linewidth=1)
    axes.set(ylabel="exact match", ylim=(-0.03, 1.03))
    _set_budgets(axes)


def _draw_time(
    axes: Axes, lines: Mapping[str, Sequence[tuple[float, Row]]], looks: Mapping[str, Style]
) -> None:
    full_s = lines["full"][0][1].refresh_s if "full" in lines else 0.0
    if full_s > 0:
        for line, points in lines.items():
            times = [row.refresh_s / full_s for _, row in points]
            axes.plot([budget for budget, _ in points], times, **_look(looks[line]))
        axes.axhline(1.0, color="#555555", linestyle=":", linewidth=1)
    else:
        axes.text(0.5, 0.5, "not measured: needs the policy full", ha="center", transform=axes.transAxes)
    axes.set(ylabel="refresh time / full's", ylim=(0, None))
    _set_budgets(axes)


def _set_budgets(axes: Axes) -> None:
    axes.set(xlabel="budget (share of affix tokens recomputed)", xlim=(-0.03, 1.03))


def _look(style: Style) -> dict[str, Any]:
    return {"color": style.colour, "marker": style.marker, "markersize": 6, "linewidth": 1.6}
