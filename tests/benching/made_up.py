"""Measurements nobody made, to compute with."""

from __future__ import annotations

from typing import Any

from ragcache.benching.arm import Measured
from ragcache.benching.drive import Pace
from ragcache.benching.systems import parse_system


def measured(system: str = "dual", **changes: Any) -> Measured:
    """16 requests in 8 s, refreshes of 1 s, 1000 bytes of KV."""
    fields: dict[str, Any] = {
        "requests": 16,
        "seconds": 8.0,
        "latency_s": (1.0, 3.0),
        "refresh_s": (0.9, 1.0, 1.1),
        "loaded_refresh_s": (1.0, 2.0, 4.0),
        "refine_alone": Pace(10.0, 1.0),
        "refine": Pace(18.0, 7.5),
        "same": 1.0,
        "answer_tokens": 512,
        "em": None,
        "private_kv_bytes": 1000,
        "reserved_kv_bytes": 1000,
        "page_bytes": 0,
        "live_rows": 1.0,
        "refresh_rows": 320.0,
        "hit_rate": 0.0,
    }
    return Measured(parse_system(system, layers=4), **{**fields, **changes})


DUAL = measured()
ANCHORS = measured(
    "acache@0.2",
    seconds=4.0,
    refresh_s=(0.2, 0.4, 3.0),
    private_kv_bytes=250,
    page_bytes=150,
    live_rows=0.25,
    refresh_rows=80.0,
    hit_rate=1.0,
)
