"""An engine by name: in this process, or over replicas."""

from __future__ import annotations

from collections.abc import Sequence

from ragcache.engine.base import BaseEngine
from ragcache.engine.loaded_model import load
from ragcache.engine.parallel.engine import DataParallelEngine
from ragcache.engine.parallel.spec import EngineOptions
from ragcache.registry import Registry


def start_engine(
    model: str,
    registry: Registry | None = None,
    *,
    device: str = "auto",
    replicas: Sequence[str] = (),
    dtype: str = "auto",
    options: EngineOptions | None = None,
) -> BaseEngine:
    """An engine whose model is on `device`; with `replicas`, devices, a `DataParallelEngine` instead.

    Raises as `load`, `Engine` and `DataParallelEngine`.
    """
    if replicas:
        return DataParallelEngine(model, registry, devices=replicas, dtype=dtype, options=options)
    return (options or EngineOptions()).engine(load(model, device=device, dtype=dtype), registry)
