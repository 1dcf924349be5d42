"""Serving: requests in, completions with reuse reports out."""

from ragcache.engine.base import BaseEngine
from ragcache.engine.engine import Engine
from ragcache.engine.loaded_model import LoadedModel, load
from ragcache.engine.parallel import DataParallelEngine, EngineOptions, start_engine
from ragcache.engine.preview import Preview
from ragcache.engine.request import AffixUse, Completion, Request, ReuseReport, Timings

__all__ = [
    "AffixUse",
    "BaseEngine",
    "Completion",
    "DataParallelEngine",
    "Engine",
    "EngineOptions",
    "LoadedModel",
    "Preview",
    "Request",
    "ReuseReport",
    "Timings",
    "load",
    "start_engine",
]
