"""`ragcache eval`: accuracy of reuse policies."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragcache.cli import options
from ragcache.cli.output import complain, console, print_json
from ragcache.cli.targets import check_target, write_text
from ragcache.errors import InputError

if TYPE_CHECKING:
    from ragcache.evaluation.answers import Answer

POLICIES = "full,direct,qa@0.2"


Data = Annotated[
    Path | None, typer.Option("--data", help='JSONL of {"question", "docs": [text, ...], "answer"}.')
]
Dataset = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        help="A generated data set: single, two_hop, not_stated, list, number, recency, chain, pronoun, "
        "same_as, correction, counterfactual, order, long, ...; repeatable.",
    ),
]
Questions = Annotated[
    Path | None, typer.Option("--questions", help='JSONL of {"question", "answer"} about --docs.')
]
Docs = Annotated[
    list[Path] | None, typer.Option("--docs", help="Documents to retrieve from, for --questions.")
]
Policies = Annotated[str, typer.Option("--policy", help="Policies, separated by commas.")]
Number = Annotated[
    int | None, typer.Option("--n", min=1, help="Examples a data set. [default: 100; all of a file]")
]
TopK = Annotated[int, typer.Option("--top-k", min=1, help="Chunks a prompt, for --questions.")]
Placement = Annotated[
    str, typer.Option("--placement", help="Where documents stand: prefix, infix, suffix, mixed.")
]
Cache = Annotated[str, typer.Option("--cache", help="Intra-request cache: none, prefix, dual, dllm, window.")]
Codecs = Annotated[
    str, typer.Option("--codec", help="How pages are stored, separated by commas: raw, int8, int4, fp8.")
]


def evaluate(
    data: Data = None,
    dataset: Dataset = None,
    questions: Questions = None,
    docs: Docs = None,
    policy: Policies = POLICIES,
    n: Number = None,
    top_k: TopK = 4,
    placement: Placement = "prefix",
    cache: Cache = "dual",
    codec: Codecs = "raw",
    decoding: options.Decoding = None,
    model: options.Model = "nano",
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    as_json: options.Json = False,
    out: options.Out = None,
    html: options.Report = None,
    journal: options.Journal = None,
) -> None:
    """Compare reuse policies: accuracy with intervals, agreement with the full recompute, rows and time.

    Without --data, --dataset or --questions: single, two_hop, not_stated and single_templates.
    """
    _check(data, dataset, questions, docs)
    for name, path in (("--out", out), ("--html", html), ("--journal", journal)):
        check_target(name, path)
    from ragcache.cli.evaluating import Plan, from_documents, from_file, from_generators, run

    plan = Plan.parsed(policy, placement, cache, codec, decoding or ())
    if questions is not None:
        loaded = from_documents(questions, docs or [], n, top_k)
    elif data is not None:
        loaded = from_file(data, n)
    else:
        loaded = from_generators(dataset, n)
    for warning in loaded.warnings:
        complain("warning", warning)
    plan = replace(plan, sets=loaded.sets)
    answers = run(plan, model=model, device=device, dtype=dtype, journal=journal)
    _tell(answers, model, as_json, out, html)


def _tell(answers: list[Answer], model: str, as_json: bool, out: Path | None, html: Path | None) -> None:
    """Print, then write: a file that cannot be written must not cost the results."""
    from ragcache.cli.reporting import page
    from ragcache.evaluation.summary import summarise

    result = {"rows": [asdict(row) for row in summarise(answers)]}
    if as_json:
        print_json(result)
    else:
        _show(result["rows"])
    if out is not None:
        write_text("--out", out, json.dumps(result, indent=2) + "\n")
    if html is not None:
        write_text("--html", html, page(answers, model, "Reuse policies"))


def _check(
    data: Path | None, dataset: list[str] | None, questions: Path | None, docs: list[Path] | None
) -> None:
    if sum(source is not None for source in (data, dataset or None, questions)) > 1:
        raise InputError("--data, --dataset and --questions exclude each other; give one")
    if bool(docs) != (questions is not None):
        raise InputError("--questions and --docs belong together; give both")


_WIDTH = 190
_NAMES = ("dataset", "policy", "placement", "codec")
_SHOWN = (*_NAMES, "n", "em", "f1", "agreement", "kl", "consistent", "live_rows", "forwards")
_TIMES = ("probe", "refresh", "total")


def _show(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from ragcache.evaluation.html import size_text

    table = Table(box=None, pad_edge=False)
    for column in (*_SHOWN, *(f"{name}_ms" for name in _TIMES), "read"):
        table.add_column(column, justify="left" if column in _NAMES else "right")
    for row in rows:
        shown = {name: _cell(row[name]) for name in _SHOWN}
        for name in ("em", "f1"):
            shown[name] += f" [{row[f'{name}_low']:.3f} {row[f'{name}_high']:.3f}]"
        times = [f"{row[f'{name}_s'] * 1e3:.1f}" for name in _TIMES]
        table.add_row(*shown.values(), *times, size_text(row["bytes_read"]))
    out = console()
    out.width = max(out.width, _WIDTH)  # a narrow terminal folds lines, cells stay whole
    out.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
