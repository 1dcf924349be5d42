"""`ragcache bench`: throughput, latency and memory of reuse beside a run without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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

Workload = Annotated[str, typer.Argument(help="doc-qa, rag, agents or long.", show_default=False)]
Model = Annotated[str, typer.Option("--model", help="random:SIZE, nano, a checkpoint folder, or a hub id.")]
Systems = Annotated[
    str, typer.Option("--systems", help="none, dual or POLICY[/CACHE], by commas; dual always runs.")
]
Requests = Annotated[int, typer.Option("--requests", help="Requests for each system.")]
Batch = Annotated[int, typer.Option("--batch", help="Requests that run at a time.")]
Rate = Annotated[
    float | None,
    typer.Option("--rate", help="Requests a second, arriving by chance. [default: all at once]"),
]
Texts = Annotated[
    Literal["words", "facts"] | None,
    typer.Option(
        "--texts",
        help="words: exact lengths; facts: questions whose answers are scored. "
        "[default: facts, words for random weights]",
    ),
]
PromptTokens = Annotated[
    int | None,
    typer.Option(
        "--prompt", help="Tokens of the longest prompt. [default: 4096, less where the window is smaller]"
    ),
]
Canvas = Annotated[int, typer.Option("--canvas", help="Tokens of an answer.")]
Block = Annotated[int, typer.Option("--block", help="Tokens of a block.")]
TokensPerStep = Annotated[int, typer.Option("--tokens-per-step", help="Decided at every step.")]
Scaling = Annotated[
    bool, typer.Option("--scaling", help="Fit refresh times to live rows, prompts of 512 to 8192 tokens.")
]
Stored = Annotated[
    int | None,
    typer.Option("--stored", min=11, help="Time requests with 10 and with so many affixes stored."),
]


def bench(
    workload: Workload,
    model: Model = "random:150m",
    systems: Systems = SYSTEMS,
    requests: Requests = 16,
    batch: Batch = 8,
    rate: Rate = None,
    texts: Texts = None,
    prompt: PromptTokens = None,
    canvas: Canvas = 64,
    block: Block = 32,
    tokens_per_step: TokensPerStep = 4,
    scaling: Scaling = False,
    stored: Stored = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    compiled: options.Compile = False,
    as_json: options.Json = False,
    out: options.Out = None,
    html: options.Report = None,
) -> None:
    """Serve one workload with several systems in one run: requests/s, refresh latency, KV bytes, roofline.

    Refresh times are those of requests served one at a time; under the load, others' forwards are in them.
    """
    for name, path in (("--out", out), ("--html", html)):
        check_target(name, path)
    from ragcache.benching.load import Load
    from ragcache.benching.models import is_random, load_model
    from ragcache.benching.systems import parse_systems
    from ragcache.benching.workloads import workload_named
    from ragcache.model.compiled import compile_layers

    asked = workload_named(workload)() if prompt is None else workload_named(workload)(prompt)
    said = texts or ("words" if is_random(model) else "facts")
    load = Load(asked, requests, batch, canvas, block, tokens_per_step, rate, seed, said)
    parse_systems(systems, layers=0)  # a wrong name shows before a model is loaded, which may take long
    loaded = load_model(model, device=device, dtype=dtype)
    if compiled:
        compile_layers(loaded.mask_predictor)
    config = loaded.predictor.config
    load = load.within(config.max_tokens) if prompt is None else load
    report = _run(loaded, workload, parse_systems(systems, config.layers), load, scaling, stored)
    _tell(report, as_json, out, html)


def _tell(report: Report, as_json: bool, out: Path | None, html: Path | None) -> None:
    """Print, then write: a file that cannot be written must not cost the results."""
    from ragcache.cli.bench_view import show
    from ragcache.cli.reporting import command_line, created_now

    if as_json:
        print_json(report.as_json())
    else:
        show(report)
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
