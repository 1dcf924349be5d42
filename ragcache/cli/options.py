"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[str, typer.Option("--model", help="nano, a checkpoint folder, or a Hugging Face hub id.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        envvar="RAGCACHE_STORE",
        help="Folder of the affix store (default: in the user's cache folder).",
        show_default=False,
    ),
]
