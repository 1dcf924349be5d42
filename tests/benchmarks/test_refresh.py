"""The benchmark's workload is what its docstring says, and its last line holds what was promised."""

from __future__ import annotations

import json

import pytest

from benchmarks.refresh import Workload, policies_for, report
from ragcache.model.random_weights import random_config, random_predictor


def test_workload_adds_up() -> None:
    parts = Workload().parts()
    assert sum(tokens for _, tokens in parts) == 2048
    affixes = [tokens for is_affix, tokens in parts if is_affix]
    assert len(affixes) == 8
    assert abs(sum(affixes) / 2048 - 0.9) < 0.002


def test_the_last_line_holds_the_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    predictor = random_predictor(random_config(layers=1, width=64, embedding_rows=64))
    live = dict.fromkeys(policies_for(4, 0.2), 0.25) | {"full": 1.0}
    seconds = dict.fromkeys(live, 1.0) | {"full": 2.0, "load": 0.1, "place": 0.2, "probe": 0.4}
    report(predictor, live, seconds, 3.0, 7)
    table, last = capsys.readouterr().out.rstrip("\n").rsplit("\n", 1)
    found = json.loads(last)
    ratios = [found[f"{name}_ratio"] for name in ("refresh", "load", "place", "probe", "direct")]
    assert ratios == [0.5, 0.05, 0.1, 0.2, 0.5]
    assert (found["live_row_fraction"], found["repeats"]) == (0.25, 7)
    assert set(found["depth_ratios"]) == {name for name in live if "depth" in name}
    assert all(name in table for name in ("full", "anchors", "live rows"))
