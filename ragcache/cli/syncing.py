"""The work behind `ragcache sync`; results are plain values, ready for JSON."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.progress import Progress

from ragcache.cli.output import console
from ragcache.cli.stores import StoreChoice
from ragcache.engine import Engine, load
from ragcache.pipelines.sync import apply_changes, find_changes
from ragcache.registry import codec_for


def sync_folder(
    folder: Path,
    *,
    prefix: str,
    dry_run: bool,
    model: str | None,
    device: str,
    dtype: str,
    store: StoreChoice,
    codec: str,
) -> dict[str, Any]:
    """What was added, changed, removed and left, and how many pages were built (none without a model)."""
    codec_for(codec)  # refuses an unknown one before the model is loaded
    with ExitStack() as stack:
        registry = stack.enter_context(store.open())
        changes = find_changes(folder, registry, prefix=prefix, namespace=store.namespace)
        result = {kind: list(getattr(changes, kind)) for kind in ("added", "changed", "removed", "unchanged")}
        result["warnings"] = list(changes.warnings)
        if dry_run:
            return {**result, "built": 0}
        engine = None
        if model is not None:
            loaded = load(model, device=device, dtype=dtype)
            engine = stack.enter_context(Engine(loaded, registry, codec=codec, namespace=store.namespace))
        err = console(stderr=True)
        with Progress(console=err, disable=not err.is_terminal, transient=True) as bar:
            task = bar.add_task("sync", total=len(changes.texts) + len(changes.removed))
            built = apply_changes(changes, registry, engine, on_name=lambda name: bar.advance(task))
        return {**result, "built": built}
