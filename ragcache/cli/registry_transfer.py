"""`ragcache registry export` and `import`: affixes as one file, for another machine with the same model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragcache.cli import options
from ragcache.cli.output import complain, print_json
from ragcache.cli.targets import check_target


def export(
    names: Annotated[list[str], typer.Argument(help="Names of affixes.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="The file to write.", show_default=False)],
    model: options.Model = "nano",
    namespace: options.Namespace = "default",
    store: options.Store = None,
    as_json: options.Json = False,
) -> None:
    """Write names, their texts and a model's pages of them to one file.

    The file is as sensitive as the texts; from an encrypted store it is encrypted with the same key.
    """
    check_target("--out", out)
    from ragcache.cli.stores import open_registry
    from ragcache.engine.loaded_model import load_maker

    with open_registry(store) as registry:
        for name in names:
            registry.lookup(name, namespace)  # refuses an unknown one before the model is read
        report = asdict(registry.export_affixes(names, out, load_maker(model), namespace=namespace))
    found = {field: report[field] for field in ("names", "pages", "size_bytes", "digest")}
    _show(found, f"{out}: {_counts(found)}, {found['size_bytes']} bytes", as_json=as_json)


def import_(
    file: Annotated[Path, typer.Argument(help="What export wrote.", show_default=False)],
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="What export printed: refuses any other file.", show_default=False),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also names that stand for another text here.")
    ] = False,
    model: options.Model = "nano",
    namespace: options.Namespace = "default",
    store: options.Store = None,
    as_json: options.Json = False,
) -> None:
    """Store names and pages from a file, all of which is checked first.

    Refused when a byte was changed, or when the pages are another model's. Only --digest tells who wrote it.
    """
    from ragcache.cli.stores import open_registry
    from ragcache.engine.loaded_model import load_maker

    with open_registry(store) as registry:
        report = registry.import_affixes(
            file, load_maker(model), namespace=namespace, replace_names=replace, digest=digest
        )
    if report.evicted:
        complain("warning", f"{report.evicted} pages did not stay: the store is too small for all of them")
    present = f", {report.present} of them were here already" if report.present else ""
    _show(asdict(report), f"{file}: {_counts(asdict(report))}{present}", as_json=as_json)


def _counts(report: dict[str, Any]) -> str:
    return f"{len(report['names'])} names, {report['pages']} pages"


def _show(report: dict[str, Any], line: str, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
    else:
        typer.echo(line)
        typer.echo(f"digest: {report['digest']}")
