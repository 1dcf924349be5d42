"""One engine over two replicas for all tests of a file: starting the processes takes seconds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ragcache.engine import DataParallelEngine, EngineOptions
from ragcache.registry import Registry


@pytest.fixture(scope="module")
def shared_registry() -> Iterator[Registry]:
    usable = os.access("/dev/shm", os.W_OK)
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm" if usable else None) as folder,
        Registry(Path(folder) / "store") as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
def replicated(checkpoint: Path, shared_registry: Registry) -> Iterator[DataParallelEngine]:
    """Two replicas, which leave no process behind when they are closed."""
    options = EngineOptions(max_batch=2, max_waiting=4)
    with DataParallelEngine(
        str(checkpoint), shared_registry, devices=["cpu", "cpu"], options=options
    ) as opened:
        yield opened
    assert len(opened.pids) == 2
    for pid in opened.pids:
        with suppress(ProcessLookupError):  # a zombie would be found
            os.kill(pid, 0)
            pytest.fail(f"process {pid} is still there")
