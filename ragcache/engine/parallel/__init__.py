"""Data-parallel serving: one process with an engine of its own for each device, behind one face.

`DataParallelEngine` is what callers see, `Router` says which replica gets a request, `ReplicaPool` keeps the
processes alive, `serve` is what runs in them, and `wire` what goes over the pipes between.
"""

from ragcache.engine.parallel.engine import DataParallelEngine
from ragcache.engine.parallel.spec import EngineOptions

__all__ = ["DataParallelEngine", "EngineOptions"]
