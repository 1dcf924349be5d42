from __future__ import annotations

import torch

from ragcache.decoding.canvas import Canvas


def test_prompt_then_masks() -> None:
    canvas = Canvas([5, 6, 7], 4, 2, mask_id=9)
    assert canvas.token_ids.tolist() == [5, 6, 7, 9, 9, 9, 9]
    assert (canvas.prompt_tokens, canvas.tokens) == (3, 7)


def test_blocks_with_a_short_last_one() -> None:
    assert list(Canvas([5, 6, 7], 8, 3, mask_id=9).blocks()) == [(3, 6), (6, 9), (9, 11)]
    assert list(Canvas([5], 2, 32, mask_id=9).blocks()) == [(1, 3)]
    assert list(Canvas([], 2, 1, mask_id=9).blocks()) == [(0, 1), (1, 2)]


def test_commits_are_no_longer_masked() -> None:
    canvas = Canvas([9, 6], 4, 4, mask_id=9)  # a mask id in the prompt is no part of the canvas
    canvas.commit(torch.tensor([5, 3]), torch.tensor([1, 2]))
    assert canvas.masked(2, 6).tolist() == [2, 4]
    assert canvas.answer() == [9, 2, 9, 1]
    assert canvas.answer(4) == [9, 2]
