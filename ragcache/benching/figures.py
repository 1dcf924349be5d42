"""From what was measured to rows: rates, percentiles, and ratios against the baseline of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragcache.benching.arm import Measured
from ragcache.benching.systems import BASELINE
from ragcache.errors import InputError


@dataclass(frozen=True)
class Refines:
    """Refines under the load beside those of requests served one at a time.

    `steps_per_s` are those of forwards of refines alone, which hold `together` on average; `batch_ratio`
    divides their pace by that of single ones.
    """

    steps_per_s: float
    together: float
    batch_ratio: float

    @classmethod
    def of(cls, own: Measured) -> Refines | None:
        """None where no forward was of refines alone."""
        loaded, alone = own.refine, own.refine_alone
        if loaded is None or alone is None:
            return None
        return cls(loaded.per_s, loaded.together, loaded.per_s / alone.per_s)


@dataclass(frozen=True)
class Row:
    """Figures of one system. Times in wall seconds, sizes in bytes.

    `refresh_p50_s` and `refresh_p99_s` are what a refresh takes by itself: `refreshes` of them, each in a
    forward of its own, of requests served one at a time. `loaded_refresh_p50_s` and `loaded_refresh_p99_s`
    are what a request under the load sees: from the moment on at which its refresh could have run until it
    had, others' forwards and their share of a joint one included. What a refresh costs within a forward that
    it shares with refines cannot be told, so that no figure says so.

    `refines` is None where no forward was of refines alone. `same` is the share of the requests served one
    at a time whose tokens were the same under the load: in fp32 it is to be 1, in less a tie may fall
    otherwise. `em` is the share of answers that are the expected ones, None where none are known.

    `peak_kv_bytes` is the private KV that requests held plus the shared pages they used, each at its most;
    `reserved_kv_bytes` is what the engine set aside at admission. The ratios are own / dual's: a refresh by
    itself (medians), requests a second, peak KV. `speedup` is dual's refresh / own, `speedup_limit` what the
    rows alone would give, and `limit_share` the one divided by the other.
    """

    system: str
    policy: str
    cache: str
    requests: int
    seconds: float
    requests_per_s: float
    tokens_per_s: float
    em: float | None
    latency_p50_s: float
    latency_p99_s: float
    refreshes: int
    refresh_p50_s: float
    refresh_p99_s: float
    loaded_refresh_p50_s: float
    loaded_refresh_p99_s: float
    refines: Refines | None
    same: float
    peak_kv_bytes: int
    private_kv_bytes: int
    reserved_kv_bytes: int
    page_bytes: int
    live_row_fraction: float
    hit_rate: float
    refresh_ratio: float
    throughput_ratio: float
    kv_ratio: float
    speedup: float
    speedup_limit: float
    limit_share: float


def rows_of(measured: Sequence[Measured]) -> list[Row]:
    """One row a system. Raises `InputError` when the baseline was not measured."""
    baseline = next((one for one in measured if one.system.name == BASELINE), None)
    if baseline is None:
        raise InputError(f"the system {BASELINE!r} was not measured, and all ratios are against it; add it")
    return [_row(one, baseline) for one in measured]


def _row(own: Measured, baseline: Measured) -> Row:
    rate = own.requests / own.seconds
    refresh_s, baseline_s = percentile(own.refresh_s, 50), percentile(baseline.refresh_s, 50)
    speedup, limit = baseline_s / refresh_s, baseline.live_rows / own.live_rows
    return Row(
        system=own.system.name,
        policy=own.system.policy.name,
        cache=own.system.cache,
        requests=own.requests,
        seconds=own.seconds,
        requests_per_s=rate,
        tokens_per_s=own.answer_tokens / own.seconds,
        em=own.em,
        latency_p50_s=percentile(own.latency_s, 50),
        latency_p99_s=percentile(own.latency_s, 99),
        refreshes=len(own.refresh_s),
        refresh_p50_s=refresh_s,
        refresh_p99_s=percentile(own.refresh_s, 99),
        loaded_refresh_p50_s=percentile(own.loaded_refresh_s, 50),
        loaded_refresh_p99_s=percentile(own.loaded_refresh_s, 99),
        refines=Refines.of(own),
        same=own.same,
        peak_kv_bytes=peak_bytes(own),
        private_kv_bytes=own.private_kv_bytes,
        reserved_kv_bytes=own.reserved_kv_bytes,
        page_bytes=own.page_bytes,
        live_row_fraction=own.live_rows,
        hit_rate=own.hit_rate,
        refresh_ratio=refresh_s / baseline_s,
        throughput_ratio=rate * baseline.seconds / baseline.requests,
        kv_ratio=peak_bytes(own) / peak_bytes(baseline),
        speedup=speedup,
        speedup_limit=limit,
        limit_share=speedup / limit,
    )


def peak_bytes(measured: Measured) -> int:
    """Private KV and shared pages together."""
    return measured.private_kv_bytes + measured.page_bytes


def percentile(values: Sequence[float], share: float) -> float:
    """The `share` percent point of `values`, between neighbours by a line."""
    return float(np.percentile(values, share))
