"""The commands, and what becomes of errors: one line on stderr and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ragcache import __version__
from ragcache.cli import (
    affix,
    ask,
    batch,
    bench,
    chat,
    evaluate,
    explain,
    generate,
    models,
    profile_depth,
    registry,
    sync,
    tune,
)
from ragcache.cli.output import complain, warnings_on_stderr
from ragcache.errors import RagCacheError

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130


class Commands(TyperGroup):
    """A known error is a message and exit code 2, Ctrl-C exit code 130; bugs keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that `ctx` names."""
        try:
            return super().invoke(ctx)
        except RagCacheError as error:
            complain("error", str(error))
            raise typer.Exit(EXIT_ERROR) from error
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(EXIT_INTERRUPTED) from interrupt


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("ask")(ask.ask)
app.command("chat")(chat.chat)
app.command("explain")(explain.explain)
app.add_typer(affix.app, name="affix")
app.command("batch")(batch.batch)
app.command("sync")(sync.sync)
app.add_typer(registry.app, name="registry")
app.add_typer(models.app, name="models")
app.command("generate")(generate.generate)
app.command("eval")(evaluate.evaluate)
app.command("bench")(bench.bench)
app.command("profile-depth")(profile_depth.profile_depth)
app.command("tune")(tune.tune)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragcache {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Prompt reuse for diffusion LLMs: texts are encoded once and placed anywhere in a prompt."""
    ctx.with_resource(warnings_on_stderr())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line `arguments` (those of the process when None) and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character must not stop an answer
            stream.reconfigure(errors="backslashreplace")
    app(None if arguments is None else list(arguments))
