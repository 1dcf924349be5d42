"""The line that says what reuse was worth."""

from __future__ import annotations

import pytest

from ragcache.cli.answer_view import worth
from ragcache.engine import AffixUse, Completion, ReuseReport, Timings


def completion(times: Timings, *, refreshes: int = 1, status: str = "hit") -> Completion:
    use = AffixUse("a.md", 0, 10, status, 2)  # type: ignore[arg-type]
    report = ReuseReport((use,), 12, 8, 2, 2)
    return Completion("x", (), "stop", report, times, 3, "nano", "acache@0.2", refreshes)


@pytest.mark.parametrize(
    ("full_s", "refreshes", "verdict"),
    [
        (0.06, 1, "30.0 ms against 60.0 ms for a full recompute: 2.0 times as fast"),
        (0.01, 6, "30.0 ms against 60.0 ms for a full recompute: 2.0 times as fast"),
        (0.031, 1, "30.0 ms against 31.0 ms for a full recompute: reuse was not faster here"),
        (0.003, 1, "30.0 ms against 3.0 ms for a full recompute: reuse was not faster here"),
        (0.0, 1, "context: 30.0 ms"),
    ],
)
def test_probe_and_refreshes_against_as_many_full_forwards(
    full_s: float, refreshes: int, verdict: str
) -> None:
    times = Timings(probe_s=0.01, refresh_s=0.02, full_s=full_s)
    assert worth(completion(times, refreshes=refreshes)).endswith(verdict)


def test_building_is_told_apart() -> None:
    line = worth(completion(Timings(refresh_s=0.02, encode_s=0.05), status="built"))
    assert line == "context: 20.0 ms; building 1 affix took 50.0 ms, once"
