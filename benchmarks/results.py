"""Tables of `make eval`: every criterion at every budget, and the intra-request caches, as Markdown.

Reads what `ragcache eval --out` wrote, one file a data set (or a cache); see the Makefile.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ragcache.evaluation.html import render
from ragcache.evaluation.summary import Row
from ragcache.reuse.criteria import CRITERIA, DEFAULT

BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5)  # 0 is direct, 1 is full, whatever the criterion
USUAL = 0.2
ANCHORS = f"{DEFAULT.name}@{USUAL:g}"
EXACT = "depth=0"  # budget 1 by way of the pages: all affix tokens are anchors, and answers are those of full
DEEPER = tuple(f"depth={layers}+{ANCHORS}" for layers in (2, 4, 7))  # of nano's 8
app = typer.Typer(add_completion=False, help=__doc__)
Folder = Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Files of ragcache eval --out.")]


def policy_names() -> list[str]:
    """Full, direct, every criterion at every budget between, and anchors with layers from the pages."""
    between = (f"{name}@{budget:g}" for name in CRITERIA for budget in BUDGETS)
    return ["full", "direct", EXACT, *between, *DEEPER]


def read_rows(folder: Path) -> dict[str, list[Row]]:
    """The rows of every file, by its name."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        found[path.stem] = [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    if not found:
        raise typer.BadParameter(f"{folder} holds no results; run make eval")
    return found


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def budget_table(rows: Sequence[Row]) -> str:
    """Exact match, agreement and KL of each criterion at each budget."""
    by_policy = {row.policy: row for row in rows}

    def line(name: str) -> list[str]:
        ends = [by_policy["direct"], *(by_policy[f"{name}@{b:g}"] for b in BUDGETS), by_policy["full"]]
        return [name, *(f"{row.em:.3f} {row.agreement or 0:.3f} {row.kl or 0:.3f}" for row in ends)]

    head = ["criterion", "0", *(f"{budget:g}" for budget in BUDGETS), "1"]
    return markdown(head, [line(name) for name in CRITERIA if f"{name}@{USUAL:g}" in by_policy])


def exact_line(rows: Sequence[Row]) -> list[str]:
    """Whether budget 1, by way of the pages, gave the tokens of full to every example."""
    found = {row.policy: row for row in rows}
    full, ours = found["full"], found[EXACT]
    same = "yes" if ours.agreement == 1.0 else "no"
    return [full.dataset, str(full.n), f"{full.em:.3f}", f"{ours.em:.3f}", f"{ours.agreement or 0:.4f}", same]


def deeper_lines(rows: Sequence[Row]) -> list[list[str]]:
    """Anchors that join at a layer, beside anchors that are computed from the first one on."""
    found = {row.policy: row for row in rows}
    anchors = found[ANCHORS]
    return [
        [
            anchors.dataset, policy, f"{ours.em:.3f}", f"{(ours.em - anchors.em) * 100:+.1f}",
            f"{ours.agreement or 0:.3f}", f"{ours.refresh_s / anchors.refresh_s:.2f}",
        ]
        for policy in DEEPER
        if (ours := found[policy])
    ]  # fmt: skip


def verdicts(rows: Sequence[Row], policy: str) -> list[str]:
    """One line: exact match of `policy` against full's, what of direct's loss it regains, its agreement.

    "clear" says that the agreement's intervals do not overlap those of direct and of random anchors.
    """
    found = {row.policy: row for row in rows}
    full, direct, ours, chance = (found[name] for name in ("full", "direct", policy, f"random@{USUAL:g}"))
    lost = full.em - direct.em
    regained = f"{(ours.em - direct.em) / lost:.0%}" if lost > 0.05 else "-"
    others = [(row.agreement or 0.0, row.agreement_high or 0.0) for row in (direct, chance)]
    above = all((ours.agreement or 0.0) > mean for mean, _ in others)
    clear = all((ours.agreement_low or 0.0) > high for _, high in others)
    return [
        full.dataset,
        str(full.n),
        f"{full.em:.3f}",
        f"{direct.em:.3f}",
        f"{ours.em:.3f}",
        f"{ours.em / full.em:.2f}" if full.em else "-",
        regained,
        f"{ours.agreement:.3f} ({direct.agreement:.3f}, {chance.agreement:.3f})",
        "clear" if clear else "yes" if above else "no",
    ]


@app.command()
def policies() -> None:
    """What `make eval` compares, as `--policy` takes it."""
    print(",".join(policy_names()))


@app.command()
def criteria(folder: Folder, html: Path | None = None) -> None:
    """A verdict on each criterion at the usual budget, and a table of all budgets for each data set."""
    found = read_rows(folder)
    head = [
        "data set", "n", "full", "direct", "ours", "of full", "regained",
        "agreement (direct, random)", "above",
    ]  # fmt: skip
    for name in CRITERIA:
        policy = f"{name}@{USUAL:g}"
        print(f"\n### {policy}\n")
        print(markdown(head, [verdicts(rows, policy) for rows in found.values()]))
    print("\n### budget 1 by way of the pages, beside full\n")
    exact_head = ["data set", "n", "full", "budget 1", "agreement", "token for token"]
    print(markdown(exact_head, map(exact_line, found.values())))
    print(f"\n### depth with anchors, beside {ANCHORS}\n")
    deeper_head = ["data set", "policy", "exact match", "points more", "agreement with full", "refresh time"]
    print(markdown(deeper_head, [line for rows in found.values() for line in deeper_lines(rows)]))
    for dataset, rows in found.items():
        print(f"\n### {dataset}: exact match, agreement with full, KL (n = {rows[0].n})\n")
        print(budget_table(rows))
    if html is not None:
        page = render(
            [row for rows in found.values() for row in rows],
            title="Criteria and budgets",
            model="nano",
            created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            command="make eval",
        )
        html.write_text(page, encoding="utf-8")


@app.command()
def caches(folder: Folder) -> None:
    """Accuracy, forwards and rows of every intra-request cache, alone and with reuse; one file a cache."""
    lines = [
        [
            f"{cache}, {row.policy}", row.dataset, str(row.n),
            f"{row.em:.3f} ({row.em_low:.3f}-{row.em_high:.3f})",
            f"{row.forwards:.1f}", f"{row.rows_computed:.0f}",
        ]
        for cache, rows in read_rows(folder).items()
        for row in rows
    ]  # fmt: skip
    print(markdown(["cache, policy", "data set", "n", "exact match (95 %)", "forwards", "rows"], lines))


if __name__ == "__main__":
    app()
