"""What the benchmark shows, on a smaller trace."""

from __future__ import annotations

from benchmarks import replay


def test_gdsf_saves_at_least_what_lru_saves() -> None:
    found = {result.policy: result for result in replay.measure(requests=600, count=200)}
    assert found["gdsf"].saved_s >= found["lru"].saved_s > 0
    assert found["lru"].evicted > 100
    assert len({result.encode_s for result in found.values()}) == 1


def test_trace_is_skewed_and_repeatable() -> None:
    first, again = (replay.measure(requests=50, count=20, seed=3) for _ in range(2))
    assert first == again != replay.measure(requests=50, count=20, seed=4)
