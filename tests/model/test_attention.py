"""Oracle 4: segments with turned queries and an LSE merge equal one attention over everything."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from model.random_kv import CONFIG, attend, normal, random_page, random_rows, scores_by_position
from torch import Tensor

from ragcache.model.attention import Backend, GatherKV, RequestKV
from ragcache.model.config import ModelConfig
from ragcache.model.joint_attention import merge
from ragcache.model.kernels import plain
from ragcache.model.kernels.plain import Partial
from ragcache.model.ragged import RaggedKV
from ragcache.model.rope import angles, rotate
from ragcache.model.rows import LayerRows
from ragcache.model.scores import scores
from ragcache.model.segment import Segment, whole
from ragcache.model.segment_attention import SegmentBackend
from reference.tiny import KINDS

CPU = torch.device("cpu")


def plain_attention(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    groups = q.shape[0] // keys.shape[0]
    keys, values = keys.repeat_interleave(groups, 0), values.repeat_interleave(groups, 0)
    return torch.softmax(q @ keys.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ values


def together(parts: list[Partial]) -> Partial:
    return Partial(torch.stack([part.out for part in parts]), torch.stack([part.lse for part in parts]))


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_merged_parts_equal_one_attention(kv_heads: int) -> None:
    q, keys, values = normal(4, 6, 8), normal(kv_heads, 20, 8, seed=1), normal(kv_heads, 20, 8, seed=2)
    parts = [
        plain.attend(q, keys[:, columns], values[:, columns])
        for columns in (slice(0, 3), slice(3, 4), slice(4, 20))
    ]
    torch.testing.assert_close(merge(together(parts)), plain_attention(q, keys, values), atol=1e-5, rtol=0)


def test_a_masked_column_is_not_seen() -> None:
    q, keys, values = normal(4, 6, 8), normal(2, 9, 8, seed=1), normal(2, 9, 8, seed=2)
    keep = torch.tensor([True, False, True, True, False, True, True, True, False])
    part = plain.attend(q, keys, values, keep)
    wanted = plain_attention(q, keys[:, keep], values[:, keep])
    torch.testing.assert_close(part.out, wanted, atol=1e-5, rtol=0)


@pytest.mark.parametrize("columns", [0, 5])
def test_a_fully_masked_or_empty_part_weighs_nothing(columns: int) -> None:
    q, keys, values = normal(4, 6, 8), normal(2, 9, 8, seed=1), normal(2, 9, 8, seed=2)
    seen = plain.attend(q, keys, values)
    unseen = plain.attend(q, keys[:, :columns], values[:, :columns], torch.zeros(columns, dtype=torch.bool))
    assert torch.equal(unseen.lse, torch.full((4, 6), float("-inf")))
    assert torch.equal(unseen.out, torch.zeros(4, 6, 8))
    assert torch.equal(merge(together([unseen, seen, unseen])), seen.out)


def test_scores_are_scaled_dot_products() -> None:
    q, keys = normal(4, 3, 8), normal(2, 5, 8, seed=1)
    wanted = q @ keys.repeat_interleave(2, 0).transpose(-1, -2) / 8**0.5
    torch.testing.assert_close(scores(q, keys), wanted, atol=1e-6, rtol=1e-5)
    assert scores(q.bfloat16(), keys.bfloat16()).dtype == torch.float32


def mixed_segments() -> list[Segment]:
    """Two whole pages, one of them twice, one page with edges and anchors masked, one wholly masked."""
    page, other = random_page(6, 10), random_page(9, 11)
    edged = torch.tensor([False, False, True, True, False, True, True, True, False])
    return [
        Segment(other, -2, edged),  # positions 0 1 3 4 5
        whole(page, 9),
        whole(page, 20),
        Segment(other, 30, torch.zeros(9, dtype=torch.bool)),
    ]


def assert_equal_attention(kvs: list[RequestKV], positions: Tensor, config: ModelConfig) -> None:
    one, other = kvs
    for layer in range(config.layers):
        rows = random_rows(positions, layer + len(positions), config)
        torch.testing.assert_close(attend(one, layer, rows), attend(other, layer, rows), atol=1e-5, rtol=0)
        scored = scores_by_position(one, layer, rows, 45), scores_by_position(other, layer, rows, 45)
        torch.testing.assert_close(*scored, atol=1e-5, rtol=0)


@pytest.mark.parametrize("query_cost", [0.0, math.inf])
@pytest.mark.parametrize("kind", ["mha", "gqa", "mqa", "sdar"])
def test_both_backends_agree(kind: str, query_cost: float) -> None:
    config = KINDS[kind]
    pages = {6: random_page(6, 10, config), 9: random_page(9, 11, config)}
    segments = [Segment(pages[s.page.tokens], s.offset, s.keep) for s in mixed_segments()]
    frozen = torch.cat([s.positions for s in segments])
    live = torch.tensor([p for p in range(45) if p not in frozen.tolist()])
    backends: list[Backend] = [GatherKV, SegmentBackend(query_cost)]
    kvs = [make(config, 45, segments, torch.float32, torch.device("cpu")) for make in backends]
    assert_equal_attention(kvs, live, config)  # a probe
    anchors = torch.tensor([3, 9, 12, *range(20, 26)])  # the last ones are a whole page
    kvs = [kv.promote(anchors) for kv in kvs]
    live = torch.cat((live, anchors)).sort().values
    assert_equal_attention(kvs, live, config)  # a refresh
    assert_equal_attention(kvs, live[-8:], config)  # a refine


def test_scores_are_by_position() -> None:
    segments = mixed_segments()
    kv = GatherKV(CONFIG, 45, segments, torch.float32, torch.device("cpu"))
    rows = random_rows(torch.tensor([40]), 3)
    got = scores_by_position(kv, 1, rows, 45)
    assert got.shape == (CONFIG.heads, 1, 45)
    key = segments[0].page.keys[1][:, 3]  # stands at position 1
    turned = rotate(key[None], *angles(torch.tensor([1]), CONFIG.head_dim, CONFIG.rope_theta))
    wanted = (rows.rotated_q[0, 2] * turned[0, 1]).sum() / CONFIG.head_dim**0.5
    torch.testing.assert_close(got[2, 0, 1], wanted)


@pytest.mark.parametrize("backend", [GatherKV, SegmentBackend()])
def test_below_the_depth_promoted_columns_keep_the_pages_keys_and_values(backend: Backend) -> None:
    kv = backend(CONFIG, 45, mixed_segments(), torch.float32, torch.device("cpu"))
    frozen = torch.tensor([0, 9, 25])
    rows = random_rows(torch.tensor([40]), 3)
    before = scores_by_position(kv, 0, rows, 45)[..., frozen]
    promoted = kv.promote(frozen, depth=1)
    torch.testing.assert_close(scores_by_position(promoted, 0, rows, 45)[..., frozen], before)


@pytest.mark.parametrize("query_cost", [0.0, math.inf])
def test_both_backends_hide_what_is_not_shown(query_cost: float) -> None:
    backends: list[Backend] = [GatherKV, SegmentBackend(query_cost)]
    kvs = [make(CONFIG, 45, mixed_segments(), torch.float32, torch.device("cpu")) for make in backends]
    live = torch.tensor([2, *range(6, 9), 15, 16, 17, 18, 19, *range(26, 45)])
    for kv in kvs:
        attend(kv, 0, random_rows(live, 1))
        kv.show(40)
    asked = random_rows(live[:5], 2)
    shown = [attend(kv, 0, asked) for kv in kvs]
    torch.testing.assert_close(*shown, atol=1e-5, rtol=0)
    for kv in kvs:
        kv.show(45)
    assert (attend(kvs[0], 0, asked) - shown[0]).abs().max() > 1e-4


def test_a_resident_page_is_read_where_it_lies_and_made_but_once() -> None:
    backend, page, arguments = SegmentBackend(), random_page(6, 10), (CONFIG, torch.float32, CPU)
    resident = backend.resident(page, *arguments)
    assert backend.resident(resident, *arguments) is resident
    assert resident.size_bytes == page.size_bytes
    assert all(map(same_memory, resident.values, page.values))
    kv = backend(CONFIG, 30, [whole(resident, 3), whole(resident, 12)], torch.float32, CPU)
    assert [segment.page for segment in kv.segments] == [resident, resident]
    assert kv.keys[0].shape[1] == 30 - 12  # private slots for the live positions only


def test_every_reader_places_a_turned_page_as_one_that_is_not() -> None:
    segments = mixed_segments()
    turned = [replace(s, page=SegmentBackend.resident(s.page, CONFIG, torch.float32, CPU)) for s in segments]
    plain_kv, turned_kv = (GatherKV(CONFIG, 45, own, torch.float32, CPU) for own in (segments, turned))
    for one, other in zip(plain_kv.keys, turned_kv.keys, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
    below = [
        SegmentBackend()(CONFIG, 45, own, torch.float32, CPU).promote(torch.tensor([0, 9, 25]), depth=1)
        for own in (segments, turned)
    ]
    torch.testing.assert_close(below[0].keys[0], below[1].keys[0], atol=1e-5, rtol=0)


def same_memory(one: Tensor, other: Tensor) -> bool:
    return one.data_ptr() == other.data_ptr()


def test_requests_of_a_batch_do_not_mix() -> None:
    kvs = [GatherKV(CONFIG, n, (), torch.float32, torch.device("cpu")) for n in (4, 7)]
    rows = [random_rows(torch.arange(n), n) for n in (4, 7)]
    joined = LayerRows(*(torch.cat(pair) for pair in zip(*(vars(r).values() for r in rows), strict=True)))
    mixed = RaggedKV(kvs).attend(0, joined, (0, 4, 11))
    for own, got in zip(rows, (mixed[:4], mixed[4:]), strict=True):
        alone = plain_attention(*(t.transpose(0, 1) for t in (own.rotated_q, own.rotated_k, own.v)))
        torch.testing.assert_close(got.transpose(0, 1), alone, atol=1e-5, rtol=0)
