"""Loading keeps within its memory bound, measured from outside torch, for our network and for another one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from benchmarks.loading import FAMILIES, bound_bytes, measure, write_checkpoint
from ragcache.model.weights import weight_files

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_memory_rises_by_the_weights_and_a_shard_at_most(tmp_path: Path, family: str) -> None:
    if family == "diffusion_gemma" and not HAS_TRANSFORMERS:
        pytest.skip("needs transformers")
    write_checkpoint(tmp_path, FAMILIES[family][0](4, 512), shard_bytes=2**22)
    sizes = [path.stat().st_size for path in weight_files(tmp_path)]
    assert len(sizes) > 4
    found = measure("load_model", tmp_path)
    assert found["seconds"] > 0
    assert 0.8 * sum(sizes) < found["peak_bytes"] <= bound_bytes(tmp_path)
