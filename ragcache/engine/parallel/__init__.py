"""Data-parallel serving: one process with an engine of its own for each device, behind one face.

`DataParallelEngine` is what callers see; `router` says which replica gets a request, `ReplicaPool` keeps the
processes alive, `serve` runs in them, and `wire` is what goes over the pipes.
"""

from ragcache.engine.parallel.engine import DataParallelEngine
from ragcache.engine.parallel.spec import EngineOptions
from ragcache.engine.parallel.start import start_engine

__all__ = ["DataParallelEngine", "EngineOptions", "start_engine"]
