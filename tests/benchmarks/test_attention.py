"""The workload is what the docstring says, and every backend is measured."""

from __future__ import annotations

import torch

from benchmarks.attention import Batch, measure, shape
from benchmarks.refresh import Workload


def test_requests_share_pages_and_differ_in_order_and_anchors() -> None:
    batch = Batch(Workload(200, affixes=4, canvas=8), 3, shape(64), torch.float32)
    one, other = batch.segments(0), batch.segments(1)
    assert [segment.page for segment in one[1:]] == [segment.page for segment in other[:-1]]
    assert not torch.equal(one[1].keep, other[0].keep)
    assert abs(len(batch.live(0)) / batch.tokens - 0.31) < 0.02
    seconds = measure(batch, 4, 1)
    assert set(seconds["refine"]) == {"gather", "one by one", "joint", "chosen"}
    assert set(seconds["refresh"]) == {*seconds["refine"], "full"}
