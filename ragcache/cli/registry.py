"""`ragcache registry`: what the store holds, what stays in it, and what would."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragcache.cli import options, registry_audit, registry_transfer
from ragcache.cli.output import console, print_json

app = typer.Typer(no_args_is_help=True, help="The store: its use, its limits, what stays and what goes.")

Name = Annotated[str, typer.Argument(help="Name of the affix.", show_default=False)]
GIB = 2**30


@app.command()
def stats(store: options.Store = None, remote: options.Remote = None, as_json: options.Json = False) -> None:
    """Show entries, bytes by tier and namespace, hits, saved seconds, and when evicted pages came back."""
    from ragcache.cli.registry_store import store_usage

    found = store_usage(store, remote)
    if as_json:
        print_json(found)
        return
    pinned = ", ".join(f"{count} {kind}" for kind, count in found["pinned"].items())
    typer.echo(f"entries: {found['entries']}, pinned: {pinned}")
    for tier, size_bytes in found["tiers"].items():
        most = f" of {found['limit_bytes']}" if tier == "disk" else ""
        typer.echo(f"{tier}: {size_bytes}{most} bytes")
    if "remote" in found:
        typer.echo(f"remote: {found['remote']['entries']} entries, {found['remote']['size_bytes']} bytes")
    for name, usage in found["namespaces"].items():
        console().print(f"namespace {name}: {usage['entries']} entries, {usage['size_bytes']} bytes")
    typer.echo(f"hits: {found['hits']}, saving {found['saved_s']:.3f} s")
    again = f"{found['reuse_gaps']} wanted again"
    if found["reuse_gaps"]:
        again += f", {found['mean_gap_s']:.1f} s later in the mean"
    typer.echo(f"evicted: {found['evicted']}, {again}")


@app.command()
def gc(
    unnamed: Annotated[bool, typer.Option("--unnamed", help="Also pages of texts without a name.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    store: options.Store = None,
    as_json: options.Json = False,
) -> None:
    """Drop ended pins, leftovers of killed processes and quarantined files."""
    from ragcache.cli.registry_store import collect_garbage

    report = collect_garbage(store, unnamed=unnamed, dry_run=dry_run)
    if as_json:
        print_json(report)
        return
    kinds = ", ".join(f"{report[kind]} {kind}" for kind in ("leases", "orphans", "quarantined", "pages"))
    typer.echo(f"{'would remove' if dry_run else 'removed'}: {kinds}; {report['freed_bytes']} bytes")


@app.command()
def pin(
    name: Name,
    soft: Annotated[bool, typer.Option("--soft", help="Evict it last, instead of never.")] = False,
    seconds: Annotated[float, typer.Option("--seconds", help="How long.")] = 3600.0,
    namespace: options.Namespace = "default",
    store: options.Store = None,
) -> None:
    """Keep the pages of a name from being evicted, also those that are built later."""
    from ragcache.cli.stores import open_registry

    with open_registry(store) as registry:
        registry.pin(name, "soft" if soft else "hard", seconds=seconds, namespace=namespace)
    typer.echo(f"{name}: {'soft' if soft else 'hard'} pin for {seconds:g} s")


@app.command()
def unpin(name: Name, namespace: options.Namespace = "default", store: options.Store = None) -> None:
    """Lift the pins of a name, whoever set them."""
    from ragcache.cli.stores import open_registry

    with open_registry(store) as registry:
        lifted = registry.unpin(name, namespace=namespace)
    typer.echo(f"{name}: {'unpinned' if lifted else 'was not pinned'}")


@app.command()
def replay(
    trace: Annotated[Path, typer.Argument(help="Lines of JSON.", show_default=False)],
    limit_bytes: Annotated[int, typer.Option("--limit-bytes", help="Size of the store.")] = 8 * GIB,
    bytes_per_token: Annotated[int | None, typer.Option("--bytes-per-token", help="Size of a page.")] = None,
    encode: Annotated[float | None, typer.Option("--encode-s-per-token", help="Seconds of encoding.")] = None,
    pair: Annotated[float | None, typer.Option("--encode-s-per-pair", help="And by pair of tokens.")] = None,
    load: Annotated[float | None, typer.Option("--load-s-per-byte", help="Seconds of loading.")] = None,
    as_json: options.Json = False,
) -> None:
    """Compare LRU, LFU and GDSF on a trace of requests, without a store.

    A line is {"t": seconds, "affixes": [{"id": text, "tokens": number}]}; an affix may also say its
    "bytes" and "encode_s". What is not given is that of Dream-7B on a fast GPU.
    """
    from ragcache.cli.registry_store import replay_trace

    given = {
        "bytes_per_token": bytes_per_token,
        "encode_s_per_token": encode,
        "encode_s_per_pair": pair,
        "load_s_per_byte": load,
    }
    found = replay_trace(trace, limit_bytes, {name: v for name, v in given.items() if v is not None})
    if as_json:
        print_json(found)
        return
    from rich.table import Table

    table = Table("policy", box=None, pad_edge=False)
    for column in ("hits", "token hit rate", "saved s", "of s", "evicted"):
        table.add_column(column, justify="right")
    for row in found["policies"]:
        cells = (f"{row['token_hit_rate']:.4f}", f"{row['saved_s']:.3f}", f"{row['encode_s']:.3f}")
        table.add_row(row["policy"], str(row["hits"]), *cells, str(row["evicted"]))
    console().print(table)


app.command("export")(registry_transfer.export)
app.command("import")(registry_transfer.import_)
app.command("audit")(registry_audit.audit)
