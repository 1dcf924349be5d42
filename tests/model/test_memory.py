"""What is free, as Linux and containers tell it, and what serving needs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import ragcache.model.memory as memory
from ragcache.errors import ConfigError, ModelTooLargeError
from ragcache.model.memory import Load, check_room, free_bytes, memory_need
from reference.tiny import CONFIGS

CPU = torch.device("cpu")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for what the kernel would say; nothing is said yet."""
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    return tmp_path


def test_nothing_is_refused_where_nothing_is_known(machine: Path) -> None:
    assert free_bytes(CPU) is None
    check_room("model", 10**15, CPU)


def test_available_memory_counts(machine: Path) -> None:
    (machine / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable: 4000 kB\n")
    assert free_bytes(CPU) == 4000 * 1024
    check_room("model", 4000 * 1024, CPU)
    with pytest.raises(ModelTooLargeError, match="model: the weights need") as found:
        check_room("model", 4000 * 1024 + 1, CPU)
    assert (found.value.needed_bytes, found.value.free_bytes) == (4000 * 1024 + 1, 4000 * 1024)


def test_a_containers_limit_counts_if_it_is_less(machine: Path) -> None:
    (machine / "meminfo").write_text("MemAvailable: 4000 kB\n")
    (machine / "memory.max").write_text("1000000\n")
    (machine / "memory.current").write_text("700000\n")
    (machine / "memory.stat").write_text("anon 400000\nfile 250000\n")
    assert free_bytes(CPU) == 1000000 - 700000 + 250000
    (machine / "memory.max").write_text("max\n")
    assert free_bytes(CPU) == 4000 * 1024


def test_what_requests_need() -> None:
    config = CONFIGS["gqa"]
    per_token = config.kv_elements_per_token * 2
    need = memory_need(config, torch.bfloat16, 5000, Load(3, 100, 20, 8, 32))
    assert (need.weights_bytes, need.pages_bytes) == (5000, 100 * per_token)
    assert need.requests_bytes == 3 * 128 * per_token
    assert need.logits_bytes == 3 * 8 * config.embedding_rows * 32  # no block is longer than the answer
    assert need.total_bytes == 5000 + 100 * per_token + need.requests_bytes + need.logits_bytes
    with pytest.raises(ConfigError, match="a batch has 1 or more"):
        Load(0, 100, 20, 8, 32)
