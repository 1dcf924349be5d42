"""The benchmark's workload is what its docstring says."""

from __future__ import annotations

from benchmarks.refresh import Workload


def test_workload_adds_up() -> None:
    parts = Workload().parts()
    assert sum(tokens for _, tokens in parts) == 2048
    affixes = [tokens for is_affix, tokens in parts if is_affix]
    assert len(affixes) == 8
    assert abs(sum(affixes) / 2048 - 0.9) < 0.002
