"""Many processes at random work on one small store."""

from __future__ import annotations

import os
import random
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from ragcache.errors import UnknownAffixError
from ragcache.page import Page
from ragcache.registry import AffixKey, Registry
from ragcache.registry.store import Store

LIMIT_BYTES, QUOTA_BYTES = 26_000, 12_000  # five or six pages, and two of the tenant's


def forked(work: Callable[[], None]) -> int:
    """The id of a process that does `work`; its exit code is 0 if nothing was raised."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def check_limits(path: Path, registry: Registry) -> None:
    """Files are counted while nobody changes them."""
    with Store(path).exclusive():
        used_bytes = sum(file.stat().st_size for file in (path / "pages").iterdir())
    assert used_bytes <= LIMIT_BYTES
    usage = registry.usage()
    assert usage.tiers["disk"] <= LIMIT_BYTES
    tenant = usage.namespaces.get("tenant")
    assert tenant is None or tenant.size_bytes <= QUOTA_BYTES


def random_step(registry: Registry, chance: random.Random, pages: dict[AffixKey, Page]) -> None:
    key = chance.choice(list(pages))
    match chance.randrange(10):
        case 0 | 1 | 2 | 3:
            with registry.building(key):
                registry.put(key, pages[key], encode_s=chance.random())
        case 4:
            registry.pin(next(iter(pages)), chance.choice(["hard", "soft"]), seconds=0.05)
        case 5:
            registry.unpin(key)
        case 6:
            registry.register(f"name{chance.randrange(3)}", "text")
        case 7:
            with suppress(UnknownAffixError):
                registry.remove(f"name{chance.randrange(3)}")
        case 8 if chance.random() < 0.2:
            registry.collect_garbage(unnamed=chance.random() < 0.2)
        case _:
            found = registry.get(key)
            assert found is None or torch.equal(found.keys[0], pages[key].keys[0])


@pytest.mark.parametrize(
    ("processes", "steps"), [(3, 25), pytest.param(8, 200, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_processes_at_random_work_keep_the_limits(
    path: Path, make_key, make_page, processes: int, steps: int
) -> None:
    keys = [make_key(first, tokens=4 + first % 3) for first in range(0, 80, 10)]
    keys += [make_key(first, namespace="tenant") for first in range(0, 40, 10)]
    pages = {key: make_page(key) for key in keys}

    def work(seed: int) -> None:
        chance = random.Random(seed)
        limits = {"limit_bytes": LIMIT_BYTES, "quotas": {"tenant": QUOTA_BYTES}}
        with Registry(path, memory_bytes=chance.choice([0, 10**6]), **limits) as registry:
            for _ in range(steps):
                random_step(registry, chance, pages)
                check_limits(path, registry)

    children = [forked(lambda seed=seed: work(seed)) for seed in range(processes)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0] * processes
    with Registry(path, limit_bytes=LIMIT_BYTES) as registry:
        usage, report = registry.usage(), registry.verify()
        assert (report.ok, report.messages) == (usage.entries, ())
        assert usage.evicted > 0
        assert registry.stats().quarantined == 0
