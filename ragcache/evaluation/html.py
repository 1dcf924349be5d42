"""The report of an evaluation: one HTML page that needs no other file and no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment
from markupsafe import Markup

from ragcache.errors import InputError
from ragcache.evaluation.charts import Style, chart, styles
from ragcache.evaluation.summary import Difference, Row
from ragcache.evaluation.templates import environment

_TEMPLATE = "report.html.jinja"
_UNITS = ("B", "KiB", "MiB", "GiB")


@dataclass(frozen=True)
class Picture:
    """A chart and what is written below it."""

    caption: str
    svg: Markup


@dataclass(frozen=True)
class Section:
    """What the page says of one data set."""

    dataset: str
    rows: list[Row]
    pictures: list[Picture]


def render(
    rows: Sequence[Row],
    *,
    title: str,
    model: str,
    created: str,
    command: str,
    differences: Sequence[Difference] = (),
) -> str:
    """The page: a table and charts for every data set; the same input gives the same page.

    `differences` fill a column of their own. `created` and `command` are shown as they are. Raises
    `InputError` for no rows and `MissingDependencyError` without matplotlib.
    """
    if not rows:
        raise InputError("no rows to report; evaluate at least one policy")
    looks = styles(rows)
    template = report_environment("ragcache.evaluation").get_template(_TEMPLATE)
    return template.render(
        title=title,
        model=model,
        created=created,
        command=command,
        sections=[_section(dataset, rows, looks) for dataset in dict.fromkeys(r.dataset for r in rows)],
        gaps={(gap.dataset, gap.policy, gap.placement, gap.codec): gap for gap in differences},
        baseline=differences[0].baseline if differences else "",
        placed=any(row.placement for row in rows),
        coded=any(row.codec != "raw" for row in rows),
        grouped=any(row.consistent is not None for row in rows),
    )


def _section(dataset: str, rows: Sequence[Row], looks: Mapping[str, Style]) -> Section:
    own = [row for row in rows if row.dataset == dataset]
    pictures = []
    for placement in dict.fromkeys(row.placement for row in own):
        caption = f"{dataset}, {placement}" if placement else dataset
        label = (
            f"{caption}: on the left exact match with its 95 % interval, on the right refresh time relative "
            "to full, both against budget, one line a criterion. The numbers stand in the table."
        )
        svg = chart([row for row in own if row.placement == placement], looks, label)
        if svg is not None:
            pictures.append(Picture(caption, svg))
    return Section(dataset, own, pictures)


def report_environment(package: str) -> Environment:
    """`environment` with the filters of figures."""
    made = environment(package)
    made.filters |= {"number": _number, "ms": _ms, "size": size_text, "signed": _signed}
    return made


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}"  # no "-0.000"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def size_text(value: float) -> str:
    """Bytes in the largest unit of which there is one."""
    power = 0
    while value >= 1024 and power < len(_UNITS) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.{1 if power else 0}f} {_UNITS[power]}"
