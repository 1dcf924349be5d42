"""Rows that read the same page do so together, and nobody's attention changes by that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from model.random_kv import attend, random_page, random_rows
from torch import Tensor

from ragcache.model import joint_attention
from ragcache.model.attention import GatherKV, RequestKV
from ragcache.model.config import ModelConfig
from ragcache.model.joint_attention import seen_together
from ragcache.model.kernels import plain
from ragcache.model.kernels.plain import Partial
from ragcache.model.ragged import RaggedKV
from ragcache.model.reads import Reads
from ragcache.model.rope import Turn
from ragcache.model.rows import LayerRows
from ragcache.model.scores import scores_of
from ragcache.model.segment import Segment, whole
from ragcache.model.segment_attention import SegmentBackend
from reference.tiny import KINDS

TOKENS = 45
CPU = torch.device("cpu")


def requests(
    config: ModelConfig, dtype: torch.dtype = torch.float32
) -> tuple[list[list[Segment]], list[Tensor]]:
    """Segments and rows of requests with pages in common: at other offsets, hidden in part, twice, none."""
    page, other = (
        SegmentBackend.resident(random_page(*made, config), config, dtype, CPU) for made in ((6, 10), (9, 11))
    )
    edged = torch.tensor([False, False, True, True, False, True, True, True, False])
    segments = [
        [whole(page, 3), Segment(other, 20, edged)],
        [Segment(other, -2, edged), whole(page, 9), whole(page, 30)],
        [],
        [whole(other, 0), Segment(page, 31, torch.tensor([True] * 5 + [False]))],
    ]
    return segments, [
        torch.tensor(rows) for rows in ([15, 16, 44], [40], [7, 8, 9, 20], [38, 39, 40, 41, 42])
    ]


def kvs_of(
    backend: SegmentBackend, config: ModelConfig, dtype: torch.dtype = torch.float32
) -> tuple[list[RequestKV], list[LayerRows]]:
    segments, positions = requests(config, dtype)
    kvs: list[RequestKV] = [backend(config, TOKENS, own, dtype, CPU) for own in segments]
    kvs[2] = GatherKV(config, TOKENS, segments[2], dtype, CPU)  # another kind in the same batch
    for number, kv in enumerate(kvs):
        for layer in range(config.layers):  # as a refresh leaves them
            frozen = torch.cat([torch.empty(0, dtype=torch.int64), *(s.positions for s in segments[number])])
            live = torch.tensor([p for p in range(TOKENS) if p not in frozen.tolist()])
            kv.write(layer, cast(random_rows(live, 100 + number + layer, config), dtype))
    rows = [cast(random_rows(own, number, config), dtype) for number, own in enumerate(positions)]
    return kvs, rows


def cast(rows: LayerRows, dtype: torch.dtype) -> LayerRows:
    made = {name: t.to(dtype) if t.is_floating_point() else t for name, t in vars(rows).items()}
    return replace(rows, **made)


def joined(rows: Sequence[LayerRows]) -> tuple[LayerRows, tuple[int, ...]]:
    fields = zip(*(vars(one).values() for one in rows), strict=True)
    counts = torch.tensor([0, *(len(one.q) for one in rows)]).cumsum(0)
    return LayerRows(*(torch.cat(parts) for parts in fields)), tuple(counts.tolist())


@pytest.mark.parametrize("kind", ["mha", "gqa", "mqa", "sdar", "llada2"])
def test_a_batch_attends_as_its_requests_do_alone(kind: str) -> None:
    config = KINDS[kind]
    kvs, rows = kvs_of(SegmentBackend(query_cost=0.0), config)
    apart, _ = kvs_of(SegmentBackend(query_cost=0.0), config)
    batch, boundaries = joined(rows)
    ragged = RaggedKV(kvs)
    for layer in range(config.layers):
        together = ragged.attend(layer, batch, boundaries)
        alone = torch.cat([attend(kv, layer, own) for kv, own in zip(apart, rows, strict=True)])
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_bf16_stays_near_fp32() -> None:
    config = KINDS["gqa"]
    outcomes = []
    for dtype in (torch.bfloat16, torch.float32):
        kvs, rows = kvs_of(SegmentBackend(query_cost=0.0), config, dtype)
        outcomes.append(RaggedKV(kvs).attend(1, *joined(rows)))
    assert outcomes[0].dtype == torch.bfloat16
    torch.testing.assert_close(outcomes[0].float(), outcomes[1], atol=0.08, rtol=0)


def test_rows_may_differ_from_layer_to_layer() -> None:
    config = KINDS["gqa"]
    kvs, rows = kvs_of(SegmentBackend(query_cost=0.0), config)
    apart, _ = kvs_of(SegmentBackend(query_cost=0.0), config)
    ragged = RaggedKV(kvs)
    rows[1] = rows[1].take(slice(0, 0))  # computes nothing at all
    for layer, kept in enumerate((slice(0, 1), slice(1, 3), slice(0, 3))):
        own = [rows[0].take(kept), *rows[1:]]
        together = ragged.attend(layer, *joined(own))
        alone = [attend(kv, layer, one) for kv, one in zip(apart, own, strict=True) if len(one.q)]
        torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=0)


def test_every_page_is_read_once_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: list[tuple[int, int]] = []

    def counted(
        q: Tensor, keys: Tensor, values: Tensor, keep: Tensor | None = None, turn: Turn | None = None
    ) -> Partial:
        columns.append((q.shape[1], keys.shape[1]))
        return plain.attend(q, keys, values, keep, turn)

    monkeypatch.setattr(joint_attention, "kernel_for", lambda device, dtype: counted)
    kvs, rows = kvs_of(SegmentBackend(query_cost=0.0), KINDS["mha"])
    RaggedKV(kvs).attend(0, *joined(rows))
    # 3 + 1 + 1 + 5 rows read the page of 6 tokens, which the second request has twice; 3 + 1 + 5 the other
    assert [read for read in columns if read[1] in (6, 9)] == [(10, 6), (9, 9)]


def test_many_rows_gather_and_few_read_pages_where_they_lie() -> None:
    config = KINDS["gqa"]
    kv = SegmentBackend()(config, TOKENS, requests(config)[0][0], torch.float32, CPU)
    assert kv.reads(torch.tensor([44])).shared
    many = kv.reads(torch.arange(30, 45))
    assert not many.shared
    assert many.own(0)[0].shape[1] == TOKENS  # all that is seen, side by side


def test_what_all_see_alike_is_one_mask() -> None:
    keep = torch.tensor([True, False, True])
    assert seen_together([None, None], [2, 1]) is None
    assert seen_together([keep, keep.clone()], [2, 1]) is keep
    mixed = seen_together([None, keep, ~keep[None]], [2, 1, 1])
    assert mixed is not None
    assert mixed.tolist() == [[True] * 3, [True] * 3, keep.tolist(), (~keep).tolist()]


def test_an_observer_sees_its_request_after_the_layer_was_written() -> None:
    config = KINDS["gqa"]
    kvs, rows = kvs_of(SegmentBackend(query_cost=0.0), config)
    seen: list[int] = []

    class Looks:
        def observe(self, layer: int, own: LayerRows, reads: Reads) -> None:
            wanted = (own.rotated_q[0, 0] * own.rotated_k[0, 0]).sum() / config.head_dim**0.5
            column = reads.positions.tolist().index(int(own.positions[0]))
            found = next(scores_of(reads, layer, own, torch.arange(len(own.q))))
            torch.testing.assert_close(found[0, 0, column], wanted)
            seen.append(int(own.positions[0]))

    RaggedKV(kvs, [None, Looks(), None, Looks()]).attend(0, *joined(rows))
    assert seen == [int(rows[1].positions[0]), int(rows[3].positions[0])]
