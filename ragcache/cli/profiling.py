"""The work behind `ragcache profile-depth`: measuring a model, and keeping what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.progress import Progress

from ragcache.cli.output import console
from ragcache.engine import load
from ragcache.engine.loaded_model import refuse_upstream
from ragcache.engine.profiles import Profiles
from ragcache.reuse.profile_depth import DepthProfiler


def measure_depth(
    texts: Sequence[str], profiler: DepthProfiler, *, model: str, device: str, dtype: str
) -> dict[str, Any]:
    """What was written to the model's profile, and its `path`. Raises ragcache's typed errors."""
    refuse_upstream(model)
    loaded = load(model, device=device, dtype=dtype)
    predictor = loaded.mask_predictor
    ids = [loaded.tokenizer.encode(text).ids for text in texts]
    err = console(stderr=True)
    with Progress(console=err, disable=not err.is_terminal, transient=True) as bar:
        task = bar.add_task("profile-depth", total=None)
        profile = profiler.measure(
            predictor,
            ids,
            name=loaded.name,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    values = profile.values()
    path = Profiles().write(loaded.fingerprint, "depth", values)
    return {**values, "path": str(path)}
