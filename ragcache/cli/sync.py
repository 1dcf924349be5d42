"""`ragcache sync`: affixes that follow a folder of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragcache.cli import options
from ragcache.cli.output import complain, console, print_json

KINDS = ("added", "changed", "removed", "unchanged")
SIGNS = {"added": "+", "changed": "~", "removed": "-"}


def sync(
    folder: Annotated[Path, typer.Argument(help="A folder of documents.", show_default=False)],
    prefix: Annotated[str, typer.Option("--prefix", help="What to put before every name.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and stop.")] = False,
    names_only: Annotated[
        bool, typer.Option("--names-only", help="Build no pages; the first request that needs one does.")
    ] = False,
    model: options.Model = "nano",
    store: options.Store = None,
    remote: options.Remote = None,
    namespace: options.Namespace = "default",
    codec: options.Codec = "raw",
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    as_json: options.Json = False,
) -> None:
    """Name every chunk of a folder, build its page, and forget names whose chunk is gone.

    Chunks are compared by content: after an edit only the chunk that changed is encoded again.
    """
    from ragcache.cli.stores import StoreChoice
    from ragcache.cli.syncing import sync_folder

    found = sync_folder(
        folder,
        prefix=prefix,
        dry_run=dry_run,
        model=None if names_only else model,
        device=device,
        dtype=dtype,
        store=StoreChoice(store, remote, namespace),
        codec=codec,
    )
    for warning in found.pop("warnings"):
        complain("warning", warning)
    if as_json:
        print_json(found)
        return
    out = console()
    for kind, sign in SIGNS.items():
        for name in found[kind]:
            out.print(f"{sign} {name}", markup=False, highlight=False)
    counts = ", ".join(f"{len(found[kind])} {kind}" for kind in KINDS)
    out.print(f"{counts}; nothing was written" if dry_run else f"{counts}; {found['built']} pages built")
