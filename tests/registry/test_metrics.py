from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
import torch
from prometheus_client import CollectorRegistry, generate_latest

from ragcache.errors import MissingDependencyError, StoreFullError
from ragcache.registry import LRU, Registry, Remote
from ragcache.registry.device import DeviceTier
from ragcache.registry.metrics import RegistryCollector


def samples(collected: CollectorRegistry) -> dict[str, float]:
    lines = generate_latest(collected).decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_counters_and_bytes_follow_the_registry(path: Path, make_key, make_page) -> None:
    a, b = make_key(0), make_key(10)
    with Registry(path) as registry:
        registry.put(a, make_page(a))
        size_bytes = registry.stats().size_bytes
    with Registry(path, limit_bytes=size_bytes, eviction=LRU()) as registry:
        collected = CollectorRegistry()
        collected.register(RegistryCollector(registry))
        registry.get(b)
        registry.put(b, make_page(b), encode_s=2.0)
        registry.get(b)
        found = samples(collected)
        held_bytes = registry.usage().tiers["memory"]
    prefix = "ragcache_registry"
    assert held_bytes > 0
    assert found == {
        f"{prefix}_hits_total": 1,
        f"{prefix}_misses_total": 1,
        f"{prefix}_stored_total": 1,
        f"{prefix}_evicted_total": 1,
        f"{prefix}_quarantined_total": 0,
        f"{prefix}_saved_seconds_total": 2.0,
        f'{prefix}_bytes{{tier="memory"}}': held_bytes,
        f'{prefix}_bytes{{tier="disk"}}': size_bytes,
        f"{prefix}_entries": 1,
    }


def test_a_remote_and_a_device_are_counted_where_they_are(tmp_path: Path, make_key, make_page) -> None:
    key, prefix = make_key(), "ragcache_registry"
    tier = DeviceTier(torch.device("meta"), 10**6)
    with Registry(tmp_path / "store", remote=Remote(f"file://{tmp_path}/shared", timeout_s=30.0)) as registry:
        collected = CollectorRegistry()
        collected.register(RegistryCollector(registry))
        registry.get(key)
        assert f'{prefix}_bytes{{tier="device"}}' not in samples(collected)
        registry.count_device(tier)
        stay = tier.take({key: make_page(key)})
        found = samples(collected)
        assert found[f"{prefix}_remote_misses_total"] == 1
        assert found[f"{prefix}_remote_failures_total"] == 0
        assert found[f'{prefix}_bytes{{tier="device"}}'] == tier.size_bytes == 1024
        assert list(registry.usage().tiers) == ["device", "memory", "disk"]
        del tier, stay
        gc.collect()
        assert "device" not in registry.usage().tiers


def test_what_did_not_reach_the_disk_is_not_counted(
    registry: Registry, make_key, make_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreFullError("no room left")

    collected = CollectorRegistry()
    collected.register(RegistryCollector(registry))
    with monkeypatch.context() as patch:
        patch.setattr("ragcache.registry.index.Index.add_built", full)
        with pytest.raises(StoreFullError):
            registry.put(make_key(), make_page(make_key()))
    found = samples(collected)
    assert (found["ragcache_registry_stored_total"], found["ragcache_registry_entries"]) == (0, 0)


def test_two_registries_have_collectors_of_their_own(path: Path, make_key, make_page) -> None:
    with Registry(path) as one, Registry(path) as two:
        collected = [CollectorRegistry(), CollectorRegistry()]
        for registry, where in zip((one, two), collected, strict=True):
            where.register(RegistryCollector(registry))
        one.put(make_key(), make_page(make_key()))
        two.get(make_key())
        stored, hits = "ragcache_registry_stored_total", "ragcache_registry_hits_total"
        assert [samples(where)[stored] for where in collected] == [1, 0]
        assert [samples(where)[hits] for where in collected] == [0, 1]


def test_closed_registry_gives_no_samples(path: Path) -> None:
    collected = CollectorRegistry()
    with Registry(path) as registry:
        collected.register(RegistryCollector(registry))
    assert samples(collected) == {}


def test_without_the_package_it_says_what_to_install(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingDependencyError, match=r"ragcache-dllm\[metrics\]"):
        RegistryCollector(registry)
