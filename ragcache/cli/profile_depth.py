"""`ragcache profile-depth`: how many layers of an affix may be reused, measured for a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ragcache.cli import options
from ragcache.cli.output import complain, console, print_json


def profile_depth(
    texts: Annotated[
        list[Path],
        typer.Option(
            "--texts",
            help="A document (text, Markdown, HTML, PDF, Word) or a folder of them; repeatable.",
            show_default=False,
        ),
    ],
    model: options.Model = "nano",
    threshold: Annotated[
        float, typer.Option("--threshold", help="How alike a layer's keys and values must be, 0..1.")
    ] = 0.95,
    samples: Annotated[int, typer.Option("--samples", help="Pieces of text to measure on.")] = 8,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    as_json: options.Json = False,
) -> None:
    """Measure how deep stored texts stay valid, by their share of the prompt; policy depth uses it."""
    from ragcache.pipelines.rag.documents import load_documents

    loaded = load_documents(texts)
    for warning in loaded.warnings:
        complain("warning", warning)
    from ragcache.cli.profiling import measure_depth
    from ragcache.reuse.profile_depth import DepthProfiler

    profiler = DepthProfiler(threshold=threshold, samples=samples)
    found = measure_depth(
        [document.text for document in loaded.documents], profiler, model=model, device=device, dtype=dtype
    )
    if as_json:
        print_json(found)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    """A column a share: its depth, and the layers' similarities below."""
    from rich.table import Table

    table = Table("affix %", box=None, pad_edge=False, padding=(0, 1, 0, 0))  # fits 80 columns
    for share, _ in found["entries"]:
        table.add_column(f"{share:g}", justify="right")
    table.add_row("depth", *(str(depth) for _, depth in found["entries"]))
    for layer, row in enumerate(zip(*found["similarity"], strict=True)):
        table.add_row(f"layer {layer}", *(f"{value:.3f}" for value in row))
    out = console()
    out.print(table)
    out.print(f"profile: {found['path']}")
