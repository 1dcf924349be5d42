"""What the benchmark shows, on a smaller trace."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks import replay


def test_gdsf_saves_at_least_what_lru_saves() -> None:
    found = {result.policy: result for result in replay.measure(requests=600, count=200)}
    assert found["gdsf"].saved_s >= found["lru"].saved_s > 0
    assert found["lru"].evicted > 100
    assert len({result.encode_s for result in found.values()}) == 1


def test_the_figure_is_gdsf_by_lru_and_says_whether_that_is_enough() -> None:
    results = replay.measure(requests=300, count=50)
    saved_s = {result.policy: result.saved_s for result in results}
    assert replay.figure(results).value == saved_s["gdsf"] / saved_s["lru"]
    worse = [replace(result, saved_s=1.0 if result.policy == "gdsf" else 2.0) for result in results]
    assert (replay.figure(worse).value, replay.figure(worse).met) == (0.5, "no")


def test_the_command_prints_policies_target_and_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "REQUESTS", 300)
    monkeypatch.setattr(replay, "DOCUMENTS", 50)
    replay.main()
    out = capsys.readouterr().out
    assert ">= 1" in out
    found = json.loads(out.splitlines()[-1])
    assert [row["policy"] for row in found["replay"]] == ["lru", "lfu", "gdsf"]
    assert found["met"] in ("yes", "no")


def test_trace_is_skewed_and_repeatable() -> None:
    first, again = (replay.measure(requests=50, count=20, seed=3) for _ in range(2))
    assert first == again != replay.measure(requests=50, count=20, seed=4)
