"""`ragcache models`: what is supported, what a model needs, and whether a checkpoint is sound."""

from __future__ import annotations

from typing import Annotated

import typer

from ragcache.cli import options
from ragcache.cli.output import console, print_json

app = typer.Typer(no_args_is_help=True, help="Supported models, what one needs, and whether it is sound.")

Name = Annotated[
    str, typer.Argument(metavar="MODEL", help="nano, a checkpoint folder, or a hub id.", show_default=False)
]
GIB = 2**30


@app.command("list")
def list_families(as_json: options.Json = False) -> None:
    """List the supported families, with how each is decoded unless told otherwise."""
    from ragcache.cli.checkpoints import families

    found = families()
    if as_json:
        print_json({"families": found})
        return
    out = console()
    for family in found:
        out.print(f"{family['name']}: model_type {family['model_type']}, {family['attention']}")
        out.print(f"  {family['examples']}")
        out.print(f"  decoding: {family['decoding']} ({family['source']})")


@app.command()
def show(
    model: Name,
    affix_tokens: Annotated[
        int, typer.Option("--affix-tokens", help="Affixes of a prompt, in tokens.")
    ] = 2048,
    prompt_tokens: Annotated[int, typer.Option("--prompt-tokens", help="The rest of a prompt.")] = 256,
    max_tokens: options.MaxTokens = None,
    batch: Annotated[int, typer.Option("--batch", help="Requests at a time.")] = 1,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    as_json: options.Json = False,
) -> None:
    """Show a model's shape, KV bytes per token, and memory for such requests; reads config.json only."""
    from ragcache.cli.checkpoints import Ask, describe

    asked = Ask(affix_tokens, prompt_tokens, max_tokens, batch)
    found = describe(model, asked, device=device, dtype=dtype)
    if as_json:
        print_json(found)
        return
    out = console()
    for name in (
        "model_type",
        "parameters",
        "layers",
        "max_tokens",
        "attention",
        "dtype",
        "kv_bytes_per_token",
    ):
        out.print(f"{name.replace('_', ' ')}: {found[name]}")
    out.print(f"decoding: {found['decoding']} ({found['source']})")
    out.print(f"{batch} requests of {affix_tokens} affix and {prompt_tokens} other tokens:")
    for name, size in found["memory"].items():
        out.print(f"  {name.removesuffix('_bytes')}: {size / GIB:.2f} GiB")
    if found["free_bytes"] is not None:
        out.print(f"free on {found['device']}: {found['free_bytes'] / GIB:.2f} GiB")


@app.command()
def check(
    model: Name,
    headers: Annotated[
        bool | None,
        typer.Option(
            "--headers/--numbers",
            help="Read headers alone, or every number. [default: numbers; headers of a hub id, so that its "
            "weights are not downloaded]",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Check a checkpoint: config, tensors and their shapes, tokenizer, and numbers that are none."""
    from ragcache.cli.checkpoints import check_checkpoint

    found = check_checkpoint(model, headers_only=headers)
    if as_json:
        print_json(found)
        return
    typer.echo(f"{model}: ok, {found['tensors']} tensors in {found['files']} files, {found['read']} read")
