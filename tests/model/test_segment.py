from __future__ import annotations

import torch

from ragcache.model.segment import Segment, whole
from ragcache.page import Page

PAGE = Page(torch.arange(5), (torch.zeros(2, 5, 4),), (torch.zeros(2, 5, 4),))


def test_a_whole_page_covers_its_positions() -> None:
    assert whole(PAGE, 7).positions.tolist() == [7, 8, 9, 10, 11]


def test_without_masks_columns_and_leaves_the_original() -> None:
    segment = whole(PAGE, 7)
    fewer = segment.without(torch.tensor([3, 8, 11, 12]))  # 3 and 12 lie outside
    assert fewer.positions.tolist() == [7, 9, 10]
    assert fewer.without(torch.tensor([7])).positions.tolist() == [9, 10]
    assert segment.positions.tolist() == [7, 8, 9, 10, 11]


def test_edges_may_stand_before_the_prompt() -> None:
    keep = torch.tensor([False, False, True, True, False])
    assert Segment(PAGE, -2, keep).positions.tolist() == [0, 1]


def test_page_sizes() -> None:
    assert PAGE.tokens == 5
    assert PAGE.size_bytes == 2 * 2 * 5 * 4 * 4
