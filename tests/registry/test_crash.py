from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ragcache.registry import Registry
from ragcache.registry.index import Index


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


MOMENTS = {"row": (Index, "add"), "rename": (os, "rename"), "name": (os, "replace")}


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
