"""`ragcache eval`: accuracy of reuse policies."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ragcache.cli import options
from ragcache.cli.output import complain, console, print_json
from ragcache.errors import InputError

POLICIES = "full,direct,acache@0.2"


def evaluate(
    data: Annotated[
        Path | None, typer.Option("--data", help='JSONL of {"question", "docs": [text, ...], "answer"}.')
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", help="A generated data set; repeatable.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help='JSONL of {"question", "answer"} about --docs.')
    ] = None,
    docs: Annotated[
        list[Path] | None, typer.Option("--docs", help="Documents to retrieve from, for --questions.")
    ] = None,
    policy: Annotated[str, typer.Option("--policy", help="Policies, separated by commas.")] = POLICIES,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="Examples a data set. [default: 100; all of a file]")
    ] = None,
    top_k: Annotated[int, typer.Option("--top-k", min=1, help="Chunks a prompt, for --questions.")] = 4,
    model: options.Model = "nano",
    device: options.Device = "auto",
    as_json: options.Json = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON to this file too.")] = None,
) -> None:
    """Compare reuse policies by exact match, F1, and agreement with the full recompute."""
    _check(data, dataset, questions, docs, out)
    from ragcache.cli.evaluating import from_documents, from_file, from_generators, run

    if questions is not None:
        loaded = from_documents(questions, docs or [], n, top_k)
    elif data is not None:
        loaded = from_file(data, n)
    else:
        loaded = from_generators(dataset, n)
    for warning in loaded.warnings:
        complain("warning", warning)
    result = {"rows": run(loaded.sets, policy.split(","), model=model, device=device)}
    if as_json:
        print_json(result)
    else:
        _show(result["rows"])
    if out is not None:  # last: a file that cannot be written must not cost the results
        _write(out, result)


def _check(
    data: Path | None,
    dataset: list[str] | None,
    questions: Path | None,
    docs: list[Path] | None,
    out: Path | None,
) -> None:
    if sum(source is not None for source in (data, dataset or None, questions)) > 1:
        raise InputError("--data, --dataset and --questions exclude each other; give one")
    if bool(docs) != (questions is not None):
        raise InputError("--questions and --docs belong together; give both")
    if out is not None and not os.path.isdir(out.absolute().parent):
        raise InputError(f"--out {out}: there is no folder {out.absolute().parent}; make it first")
    if out is not None and os.path.isdir(out):
        raise InputError(f"--out {out}: a folder; name a file")


def _write(path: Path, result: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {path}: cannot be written ({error.strerror})") from error


def _show(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(column, justify="left" if column in ("dataset", "policy") else "right")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    console().print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
