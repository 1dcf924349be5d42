from __future__ import annotations

import torch

from ragcache.model.rows import LayerRows, Rows


def rows(*ids: int) -> Rows:
    return Rows.single(torch.tensor(ids), torch.arange(len(ids)) + ids[0])


def test_join_keeps_order_and_boundaries() -> None:
    joined = Rows.join([rows(4, 5, 6), rows(9), Rows.join([rows(1, 2), rows(3)])])
    assert joined.token_ids.tolist() == [4, 5, 6, 9, 1, 2, 3]
    assert joined.positions.tolist() == [4, 5, 6, 9, 1, 2, 3]
    assert joined.boundaries == (0, 3, 4, 6, 7)
    assert list(joined.spans()) == [(0, 3), (3, 4), (4, 6), (6, 7)]


def test_a_request_without_rows_keeps_its_place() -> None:
    empty = Rows.single(torch.empty(0).long(), torch.empty(0).long())
    assert Rows.join([rows(1), empty, rows(2)]).boundaries == (0, 1, 1, 2)


def test_take_picks_the_same_rows_of_every_tensor() -> None:
    q, k, v, rotated_q, rotated_k = (torch.arange(4)[:, None, None] + 10 * i for i in range(5))
    layer = LayerRows(q, k, v, rotated_q, rotated_k, torch.arange(4))
    taken = layer.take(torch.tensor([2, 0]))
    assert taken.q.flatten().tolist() == [2, 0]
    assert taken.rotated_k.flatten().tolist() == [42, 40]
    assert taken.positions.tolist() == [2, 0]
    assert layer.take(slice(1, 3)).v.flatten().tolist() == [21, 22]
