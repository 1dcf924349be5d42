"""`ragcache affix`: named texts and their pages in the store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ragcache.cli import options
from ragcache.cli.output import complain, console, print_json
from ragcache.errors import DocumentError, InputError

app = typer.Typer(no_args_is_help=True, help="Named texts in the store, and their pages.")

Name = Annotated[str, typer.Argument(help="Name of the affix.", show_default=False)]
EXIT_DAMAGED = 1


@app.command()
def put(
    name: Name,
    file: Annotated[Path | None, typer.Option("--file", help="A document with the text.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="The text itself.")] = None,
    model: options.Model = "nano",
    store: options.Store = None,
    remote: options.Remote = None,
    namespace: options.Namespace = "default",
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    codec: options.Codec = "raw",
    as_json: options.Json = False,
) -> None:
    """Name a text, and build and store its page for a model."""
    if (file is None) == (text is None):
        raise InputError("give the text with either --file or --text")
    source = text if file is None else _read(file)
    from ragcache.cli.affixes import put_affix
    from ragcache.cli.stores import StoreChoice

    chosen = StoreChoice(store, remote, namespace)
    stored = put_affix(name, source or "", model=model, device=device, dtype=dtype, store=chosen, codec=codec)
    if as_json:
        print_json(stored)
    else:
        typer.echo(f"{name}: {stored['tokens']} tokens, {stored['size_bytes']} bytes, {stored['status']}")


@app.command("list")
def list_affixes(
    store: options.Store = None, namespace: options.Namespace = "default", as_json: options.Json = False
) -> None:
    """List all names with their pages on disk."""
    from rich.table import Table
    from rich.text import Text

    from ragcache.cli.affixes import affix_rows
    from ragcache.cli.stores import StoreChoice

    rows = affix_rows(StoreChoice(store, namespace=namespace))
    if as_json:
        print_json({"affixes": rows})
        return
    table = Table("name", box=None, pad_edge=False)
    columns = ("characters", "pages", "tokens", "size_bytes", "hits")
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(Text(row["name"]), *(str(row[column]) for column in columns))
    console().print(table)


@app.command()
def show(
    name: Name,
    store: options.Store = None,
    namespace: options.Namespace = "default",
    as_json: options.Json = False,
) -> None:
    """Show the text of a name, and its pages by model."""
    from ragcache.cli.affixes import describe
    from ragcache.cli.stores import StoreChoice

    found = describe(name, StoreChoice(store, namespace=namespace))
    if as_json:
        print_json(found)
        return
    out = console()
    out.print(found["text"])
    out.print()
    for page in found["pages"]:
        size = f"{page['tokens']} tokens, {page['size_bytes']} bytes, {page['hits']} hits"
        out.print(f"model {page['model']} ({page['dtype']}, {page['codec']}): {size}")
    if not found["pages"]:
        out.print("no page on disk")


@app.command()
def remove(name: Name, store: options.Store = None, namespace: options.Namespace = "default") -> None:
    """Forget a name, and drop its pages unless another name has the same text."""
    from ragcache.cli.stores import open_registry

    with open_registry(store) as registry:
        registry.remove(name, namespace)
    typer.echo(f"{name}: removed")


@app.command()
def warm(
    names: Annotated[list[str], typer.Argument(help="Names of affixes.", show_default=False)],
    model: options.Model = "nano",
    store: options.Store = None,
    remote: options.Remote = None,
    namespace: options.Namespace = "default",
    shared: options.Shared = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    as_json: options.Json = False,
) -> None:
    """Make sure the pages of names are on this machine: from the remote, or built now."""
    from ragcache.cli.affixes import warm_affixes
    from ragcache.cli.stores import StoreChoice

    chosen = StoreChoice(store, remote, namespace, shared or ())
    rows = warm_affixes(names, model=model, device=device, dtype=dtype, store=chosen)
    if as_json:
        print_json({"affixes": rows})
        return
    for row in rows:
        typer.echo(f"{row['name']}: {row['tokens']} tokens, {row['status']}")


@app.command()
def verify(
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Also make wrong rows of the index anew, and remove leftovers."),
    ] = False,
    store: options.Store = None,
    as_json: options.Json = False,
) -> None:
    """Read every byte of every page, and every name; exit code 1 if something was damaged.

    What is damaged is set aside and never served; the next request builds it anew.
    """
    from ragcache.cli.affixes import check_store

    report = check_store(store, repair=repair)
    for message in report["messages"]:
        complain("warning", message)
    if as_json:
        print_json(report)
    else:
        for line in summary(report, repair=repair):
            typer.echo(line)
    if report["damaged"] or report["damaged_names"] or report["contradicted"]:
        raise typer.Exit(EXIT_DAMAGED)


def summary(report: Mapping[str, Any], *, repair: bool) -> Iterator[str]:
    """What a check found and what became of it, line by line."""
    yield f"pages: {report['ok']} ok, {report['damaged']} damaged and set aside"
    yield f"names: {report['names']} ok, {report['damaged_names']} damaged and set aside"
    yield (
        f"index: {report['missing']} rows without a page dropped, {report['adopted']} pages without a row "
        f"adopted, {report['contradicted']} rows wrong{' and made anew' if repair else ''}"
    )
    if repair:
        yield f"leftovers of killed processes: {report['leftovers']} removed"
    elif report["contradicted"]:
        yield "run it with --repair to make the wrong rows anew"


def _read(path: Path) -> str:
    """The file's text, cleaned as a document's is, so that both have the same page."""
    from ragcache.pipelines.rag.documents import load_documents

    if os.path.isdir(path):  # unlike pathlib's, False for a path that cannot be
        raise DocumentError(f"{path}: a folder; --file takes one file")
    return load_documents([path]).documents[0].text
