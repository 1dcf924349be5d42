"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Question = Annotated[str, typer.Argument(help="What to ask.", show_default=False)]
Docs = Annotated[
    list[Path],
    typer.Option(
        "--docs",
        help="A document (text, Markdown, HTML, PDF, Word) or a folder of them; repeatable.",
        show_default=False,
    ),
]
TopK = Annotated[int, typer.Option("--top-k", help="Chunks to put into the prompt.")]
Budget = Annotated[
    float | None,
    typer.Option("--budget", help="Share of affix tokens to recompute, 0..1. [default: 0.2]"),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", help="Instead of --budget: full, direct, auto, qa@0.2, depth+qa@0.2, ..."),
]
Codec = Annotated[
    str, typer.Option("--codec", help="How pages are stored: raw, or smaller and rounded: int8, int4, fp8.")
]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", help="Length of the answer. [default: 32]")]
Seed = Annotated[int, typer.Option("--seed", help="For sampling.")]
Decoding = Annotated[
    list[str] | None,
    typer.Option(
        "--decoding",
        metavar="NAME=VALUE",
        help="top_k, top_p, temperature, min_tokens, confidence, threshold, steps, sampler, ...; repeatable. "
        "[default: the model's own]",
        show_default=False,
    ),
]
Compare = Annotated[bool, typer.Option("--compare/--no-compare", help="Time a full recompute too.")]
Model = Annotated[
    str, typer.Option("--model", help="nano, a checkpoint folder, or a hub id: org/name, org/name@revision.")
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:N, or several: cuda:0,cuda:1.")]
Replica = Annotated[
    list[str] | None,
    typer.Option(
        "--replica",
        metavar="DEVICE",
        help="A process with a copy of the model on this device, instead of --device; repeatable.",
        show_default=False,
    ),
]
Dtype = Annotated[
    str,
    typer.Option("--dtype", help="To compute in: auto, bf16, fp16 or fp32; int8 rounds the weights alone."),
]
Compile = Annotated[
    bool,
    typer.Option("--compile", help="torch.compile the layers: seconds once, then faster. Needs g++."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Journal = Annotated[
    Path | None,
    typer.Option("--journal", help="Keep every answer in this file; an interrupted run goes on from it."),
]
Out = Annotated[Path | None, typer.Option("--out", help="Write the JSON to this file too.")]
Report = Annotated[Path | None, typer.Option("--html", help="Write a page with curves to this file.")]
Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        envvar="RAGCACHE_STORE",
        help="Folder of the affix store (default: in the user's cache folder).",
        show_default=False,
    ),
]
Remote = Annotated[
    str | None,
    typer.Option(
        "--remote",
        envvar="RAGCACHE_REMOTE",
        help="Object store to share pages through: file:///mnt/pages, s3://bucket/pages, ...",
        show_default=False,
    ),
]
Namespace = Annotated[str, typer.Option("--namespace", help="Whose names and pages.")]
Shared = Annotated[
    list[str] | None,
    typer.Option(
        "--shared", help="An affix that may come from the namespace shared; repeatable.", show_default=False
    ),
]
