"""What a plan computes at most is known before it is made, for every family and policy."""

from __future__ import annotations

import pytest
import torch

from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.step import run
from ragcache.model.private_memory import Columns, FreshMemory
from ragcache.model.segment_attention import SegmentBackend
from ragcache.reuse.plan import depth_table, make_plan, most_live
from ragcache.reuse.policy import parse_policy
from reference.fast_path import Fast
from reference.tiny import KINDS, random_ids, tiny_model

FRONT, LAST = random_ids(13, 1), random_ids(9, 2)
PARTS = [(True, FRONT), (False, random_ids(3, 5)), (True, LAST)]
OPTIONS = DecodingOptions(max_tokens=6)


class Widest(FreshMemory):
    """Knows the most columns that were taken."""

    def take(self, columns: int) -> Columns:
        vars(self)["most"] = max(columns, vars(self).get("most", 0))
        return super().take(columns)


@pytest.mark.parametrize(
    "policy", ["direct", "first@0.2", "acache@0.2", "adaptive@0.9:0.1-0.4", "depth=1+first@0.3", "depth=1"]
)
@pytest.mark.parametrize("kind", ["gqa", "dream", "sdar"])
def test_no_plan_computes_more_than_was_said(kind: str, policy: str) -> None:
    fast, chosen = Fast(tiny_model(KINDS[kind]), SegmentBackend()), parse_policy(policy)
    config, memory = fast.model.config, Widest(KINDS[kind], torch.float32, torch.device("cpu"))
    canvas, table = fast.canvas(PARTS, OPTIONS), depth_table(chosen, KINDS[kind].layers, None)
    segments = fast.segments(PARTS, table.checkpoints if table else ())
    plan = run(fast.model, make_plan(fast.model, canvas, segments, chosen, fast.backend, table, memory))
    most = most_live(config, canvas.tokens, len(FRONT) + len(LAST), chosen)
    assert len(plan.live) <= vars(memory)["most"] <= most <= canvas.tokens
    if kind == "gqa" and "adaptive" not in policy:
        assert len(plan.live) == most


def test_without_reuse_everything_is_computed() -> None:
    assert most_live(KINDS["dream"], 50, 40, parse_policy("full")) == 50
