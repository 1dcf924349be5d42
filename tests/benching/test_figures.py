"""Ratios and percentiles, from made-up measurements."""

from __future__ import annotations

import pytest
from benching.made_up import ANCHORS, DUAL, measured

from ragcache.benching.figures import Refines, percentile, rows_of
from ragcache.errors import InputError


def test_the_baseline_is_compared_with_itself() -> None:
    [row] = rows_of([DUAL])
    ratios = row.refresh_ratio, row.throughput_ratio, row.kv_ratio, row.speedup, row.limit_share
    assert ratios == (1.0,) * 5
    assert (row.requests_per_s, row.tokens_per_s, row.refreshes) == (2.0, 64.0, 3)
    assert (row.latency_p50_s, row.refresh_p50_s) == (2.0, 1.0)


def test_ratios_are_own_by_duals_and_the_limit_is_what_rows_imply() -> None:
    row = rows_of([ANCHORS, DUAL])[0]
    assert row.refresh_ratio == pytest.approx(0.4)
    assert row.throughput_ratio == pytest.approx(2.0)
    assert (row.peak_kv_bytes, row.kv_ratio) == (400, pytest.approx(0.4))
    assert row.speedup == pytest.approx(2.5)
    assert row.speedup_limit == pytest.approx(4.0)
    assert row.limit_share == pytest.approx(0.625)


def test_refreshes_under_the_load_are_apart_from_those_alone() -> None:
    [row] = rows_of([DUAL])
    assert (row.loaded_refresh_p50_s, row.refresh_p50_s) == (2.0, 1.0)
    assert 3.9 < row.loaded_refresh_p99_s <= 4.0


def test_a_batch_is_compared_with_single_runs_where_refines_ran_without_others() -> None:
    [row] = rows_of([DUAL])
    assert row.refines == Refines(steps_per_s=18.0, together=7.5, batch_ratio=1.8)
    [row] = rows_of([measured(refine=None, same=0.5)])
    assert (row.refines, row.same) == (None, 0.5)


def test_the_median_ignores_one_slow_refresh_and_p99_shows_it() -> None:
    row = rows_of([DUAL, ANCHORS])[1]
    assert row.refresh_p50_s == pytest.approx(0.4)
    assert row.refresh_p99_s > 2.9


def test_without_the_baseline_there_are_no_ratios() -> None:
    with pytest.raises(InputError, match="'dual' was not measured"):
        rows_of([measured("direct")])


def test_percentiles_lie_between_neighbours() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 50) == 2.5
    assert percentile([7.0], 99) == 7.0
