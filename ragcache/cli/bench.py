"""`ragcache bench`: throughput, latency and memory of reuse beside a run without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragcache.cli import options
from ragcache.cli.output import console, print_json
from ragcache.cli.targets import check_target, write_text

if TYPE_CHECKING:
    from ragcache.benching.load import Load
    from ragcache.benching.report import Report
    from ragcache.benching.systems import System
    from ragcache.engine import LoadedModel

SYSTEMS = "dual,direct,acache@0.1,acache@0.2,depth=half+acache@0.2"


def bench(
    workload: Annotated[str, typer.Argument(help="doc-qa, rag, agents or long.", show_default=False)],
    model: Annotated[
        str,
        typer.Option("--model", help="random:SIZE, nano, a checkpoint folder, or a hub id."),
    ] = "random:150m",
    systems: Annotated[
        str,
        typer.Option("--systems", help="none, dual or POLICY[/CACHE], by commas; dual always runs."),
    ] = SYSTEMS,
    requests: Annotated[int, typer.Option("--requests", help="Requests for each system.")] = 16,
    batch: Annotated[int, typer.Option("--batch", help="Requests that run at a time.")] = 8,
    rate: Annotated[
        float | None,
        typer.Option("--rate", help="Requests a second, arriving by chance. [default: all at once]"),
    ] = None,
    prompt: Annotated[int, typer.Option("--prompt", help="Tokens of the longest prompt.")] = 4096,
    canvas: Annotated[int, typer.Option("--canvas", help="Tokens of an answer.")] = 64,
    block: Annotated[int, typer.Option("--block", help="Tokens of a block.")] = 32,
    tokens_per_step: Annotated[int, typer.Option("--tokens-per-step", help="Decided at every step.")] = 4,
    scaling: Annotated[
        bool,
        typer.Option("--scaling", help="Fit refresh times to live rows, prompts of 512 to 8192 tokens."),
    ] = False,
    stored: Annotated[
        int | None,
        typer.Option("--stored", min=11, help="Time requests with 10 and with so many affixes stored."),
    ] = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    as_json: options.Json = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON to this file too.")] = None,
    html: options.Report = None,
) -> None:
    """Serve one workload with several systems in one run: requests/s, refresh latency, KV bytes, roofline."""
    for name, path in (("--out", out), ("--html", html)):
        check_target(name, path)
    from ragcache.benching.load import Load
    from ragcache.benching.models import load_model
    from ragcache.benching.systems import parse_systems
    from ragcache.benching.workloads import workload_named
    from ragcache.cli.reporting import command_line, created_now

    load = Load(workload_named(workload)(prompt), requests, batch, canvas, block, tokens_per_step, rate, seed)
    parse_systems(systems, layers=0)  # a wrong name shows before a model is loaded, which may take long
    loaded = load_model(model, device=device, dtype=dtype)
    chosen = parse_systems(systems, loaded.predictor.config.layers)
    report = _run(loaded, workload, chosen, load, scaling, stored)
    if as_json:
        print_json(report.as_json())
    else:
        _show(report)
    # Last: a file that cannot be written must not cost the results.
    if out is not None:
        write_text("--out", out, json.dumps(report.as_json(), indent=2) + "\n")
    if html is not None:
        write_text("--html", html, report.html(created=created_now(), command=command_line()))


def _run(
    model: LoadedModel,
    workload: str,
    systems: tuple[System, ...],
    load: Load,
    scaling: bool,
    stored: int | None,
) -> Report:
    """The report; progress goes to stderr."""
    from rich.progress import Progress

    from ragcache.benching.run import run

    err = console(stderr=True)
    with Progress(console=err, disable=not err.is_terminal, transient=True) as progress:
        tasks = {system: progress.add_task(system.name, total=load.requests) for system in systems}
        return run(
            model,
            workload,
            systems,
            load,
            scaled=scaling,
            stored=stored,
            on_round=lambda system, served: progress.update(tasks[system], completed=served),
        )


_WIDTH = 150
_COLUMNS = (
    ("requests/s", "requests_per_s", "{:.3f}"),
    ("x dual", "throughput_ratio", "{:.2f}"),
    ("tokens/s", "tokens_per_s", "{:.1f}"),
    ("refresh p50 s", "refresh_p50_s", "{:.4f}"),
    ("p99 s", "refresh_p99_s", "{:.4f}"),
    ("/ dual", "refresh_ratio", "{:.3f}"),
    ("live rows", "live_row_fraction", "{:.3f}"),
    ("speed-up", "speedup", "{:.2f}"),
    ("of limit", "limit_share", "{:.2f}"),
    ("peak KV MiB", "peak_kv_bytes", "{:.1f}"),
    ("/ dual", "kv_ratio", "{:.3f}"),
)


def _show(report: Report) -> None:
    """The table, and lines below it."""
    from rich.table import Table

    from ragcache.benching.report import described

    table = Table(box=None, pad_edge=False)
    table.add_column("system")
    for title, _, _ in _COLUMNS:
        table.add_column(title, justify="right")
    for row in report.rows:
        values = {**vars(row), "peak_kv_bytes": row.peak_kv_bytes / 2**20}
        table.add_row(row.system, *(form.format(values[name]) for _, name, form in _COLUMNS))
    out = console()
    out.width = max(out.width, _WIDTH)  # a narrow terminal folds lines, cells stay whole
    out.print(f"{report.workload}: {described(report.load)}")
    out.print(f"{report.model}: {report.parameters:,} parameters, {report.dtype}, {report.threads} threads")
    out.print(table)
    for line in report.lines():
        out.print(line)
