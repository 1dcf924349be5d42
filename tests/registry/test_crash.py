from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ragcache.registry import Registry
from ragcache.registry.index import Index

LIMIT_BYTES = 20_000  # three pages


def killed_while(moment: str, path: Path, write: Callable[[Registry], object]) -> None:
    """Run `write` on the store at `path` in a process that is killed at `moment`."""
    child = os.fork()
    if child == 0:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(*MOMENTS[moment], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
                write(Registry(path))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


MOMENTS = {"row": (Index, "add_built"), "rename": (os, "rename"), "name": (os, "replace")}


@pytest.mark.parametrize("moment", ["row", "rename"])
def test_writer_killed_in_the_middle(path: Path, make_key, make_page, moment: str) -> None:
    key, page = make_key(), make_page(make_key())
    killed_while(moment, path, lambda registry: registry.put(key, page, encode_s=0.5))
    whole = moment == "row"
    with Registry(path) as registry:
        assert registry.stats().entries == whole
        assert len(list((path / "pages").iterdir())) == whole
        assert (registry.get(key) is not None) == whole
        assert [row.encode_s for row in registry.pages()] == [0.5] * whole


def test_killed_builder_and_killed_register_block_nobody(path: Path, make_key, make_page) -> None:
    key, page = make_key(), make_page(make_key())
    with Registry(path) as registry:
        registry.register("a", "old")

    def build(registry: Registry) -> None:
        with registry.building(key):
            registry.register("a", "new")

    killed_while("name", path, build)
    with Registry(path) as registry:
        assert registry.lookup("a").text == "old"
        assert registry.register("a", "new").text == "new"
        with registry.building(key):
            assert registry.put(key, page) is not None


def killed_within(calls: int, path: Path, write: Callable[[Registry], object]) -> None:
    """Run `write` in a process that is killed at its `calls`-th call of a function, or at its end."""
    left = calls

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            registry = Registry(path, limit_bytes=LIMIT_BYTES)
            sys.setprofile(count)
            write(registry)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def calls_of(path: Path, write: Callable[[Registry], object]) -> int:
    """Function calls that `write` makes, counted once to its end."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    with Registry(path, limit_bytes=LIMIT_BYTES) as registry:
        sys.setprofile(count)
        try:
            write(registry)
        finally:
            sys.setprofile(None)
    return calls


@pytest.mark.parametrize("moments", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_writer_killed_at_random_moments_of_puts_that_evict(
    path: Path, make_key, make_page, moments: int
) -> None:
    keys = [make_key(first, tokens=4 + first % 3) for first in range(0, 80, 10)]
    chance = random.Random(moments)

    def write(registry: Registry) -> None:
        for key in chance.sample(keys, 4):
            with registry.building(key):
                registry.put(key, make_page(key), encode_s=chance.random())

    calls, survivors = calls_of(path, write), 0
    for _ in range(moments):
        killed_within(chance.randrange(1, calls), path, write)
        with Registry(path, limit_bytes=LIMIT_BYTES, memory_bytes=0) as registry:
            found = {key: page for key in keys if (page := registry.get(key)) is not None}
            assert all(torch.equal(page.keys[0], make_page(key).keys[0]) for key, page in found.items())
            survivors += len(found)
            files = list((path / "pages").iterdir())
            used_bytes = sum(file.stat().st_size for file in files)
            stats = registry.stats()
            assert (stats.size_bytes, stats.entries) == (used_bytes, len(found))
            assert (used_bytes <= LIMIT_BYTES, len(files), stats.quarantined) == (True, len(found), 0)
            registry.collect_garbage()
            assert list((path / "building").iterdir()) == []
    assert survivors > moments
    with Registry(path, limit_bytes=LIMIT_BYTES) as registry:
        assert registry.verify().messages == ()
