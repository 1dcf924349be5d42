"""`ragcache batch`: many questions from a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ragcache.cli import options
from ragcache.cli.output import complain, console, print_json

EXIT_FAILED = 1


Input = Annotated[
    str, typer.Option("-i", "--input", help="JSON Lines of questions; - reads stdin.", show_default=False)
]
Output = Annotated[Path, typer.Option("-o", "--output", help="JSON Lines of answers.", show_default=False)]
Docs = Annotated[
    list[Path] | None,
    typer.Option("--docs", help="Documents that lines name, or that questions are looked up in."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on; failed rows are tried again.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Start anew.")]
Form = Annotated[Literal["simple", "openai"], typer.Option("--format", help="Of both files.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print tokens, expected hits and what does not fit; ask nothing.")
]


def batch(
    source: Input,
    out: Output,
    docs: Docs = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    form: Form = "simple",
    dry_run: DryRun = False,
    policy: options.Policy = None,
    budget: options.Budget = None,
    top_k: options.TopK = 4,
    max_tokens: options.MaxTokens = None,
    seed: options.Seed = 0,
    decoding: options.Decoding = None,
    model: options.Model = "nano",
    store: options.Store = None,
    remote: options.Remote = None,
    namespace: options.Namespace = "default",
    shared: options.Shared = None,
    codec: options.Codec = "raw",
    device: options.Device = "auto",
    replica: options.Replica = None,
    dtype: options.Dtype = "auto",
    compiled: options.Compile = False,
    as_json: options.Json = False,
) -> None:
    """Answer every line; a bad one becomes an error row. Exit code 1 when some rows failed.

    A line is {"custom_id", "question"} with optional "docs" (names, or {"id", "text"}; without it the
    nearest chunks of --docs), "system" and "max_tokens"; with --format openai one of OpenAI's batch lines.
    """
    from ragcache.cli.answering import Settings
    from ragcache.cli.batching import Files, preview_batch, run_batch
    from ragcache.cli.stores import StoreChoice

    settings = Settings.checked(
        model=model,
        device=device,
        replicas=replica or (),
        dtype=dtype,
        top_k=top_k,
        budget=budget,
        policy=policy,
        codec=codec,
        max_tokens=max_tokens,
        seed=seed,
        decoding=decoding,
    )
    settings = replace(settings, compiled=compiled)
    chosen = StoreChoice(store, remote, namespace, shared or ())
    files = Files(source, out, tuple(docs or ()), form, resume, overwrite)
    if dry_run:
        for row in preview_batch(files, settings, chosen):
            print_json(row)
        return
    _tell(run_batch(files, settings, chosen), as_json)


def _tell(result: dict[str, Any], as_json: bool) -> None:
    """Print the summary; exit code 1 when some rows failed."""
    if as_json:
        print_json(result)
    else:
        console(stderr=True).print(
            f"{result['ok']} answered, {result['failed']} failed, {result['skipped']} done before; "
            f"{result['hit_rate']:.0%} of affix tokens from the store, "
            f"{result['reused_tokens']} tokens reused, "
            f"{result['tokens_per_s']:.1f} answer tokens/s, {result['seconds']:.1f} s "
            f"({_saved(result['saved_s'])})",
            highlight=False,
        )
    if result["failed"]:
        complain("warning", f"{result['failed']} rows failed; --resume tries them again")
        raise typer.Exit(EXIT_FAILED)


def _saved(seconds: float) -> str:
    """What reuse was worth, no better than it was."""
    return f"about {seconds:.1f} s saved" if seconds >= 0.1 else "no time saved"
