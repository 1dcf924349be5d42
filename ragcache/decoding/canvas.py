"""The canvas: the answer region of one request, all masks at first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor


class Canvas:
    """Token ids of prompt and answer; positions are absolute."""

    def __init__(self, prompt: Sequence[int], length: int, block_length: int, mask_id: int) -> None:
        self.mask_id = mask_id
        self.prompt_tokens = len(prompt)
        self.length, self.block_length = length, block_length
        self.token_ids = torch.tensor([*prompt, *[mask_id] * length], dtype=torch.int64)

    @property
    def tokens(self) -> int:
        """Prompt and canvas together."""
        return int(self.token_ids.shape[0])

    def blocks(self) -> Iterator[tuple[int, int]]:
        """`(start, stop)` of every block, left to right; the last may be shorter."""
        for start in range(self.prompt_tokens, self.tokens, self.block_length):
            yield start, min(start + self.block_length, self.tokens)

    def masked(self, start: int, stop: int) -> Tensor:
        """Positions still masked within `start:stop`."""
        return (self.token_ids[start:stop] == self.mask_id).nonzero().squeeze(-1) + start

    def commit(self, positions: Tensor, tokens: Tensor) -> None:
        """Write tokens for good."""
        self.token_ids[positions] = tokens

    def answer(self, stop: int | None = None) -> list[int]:
        """Answer ids up to absolute position `stop` (all when None)."""
        answer: list[int] = self.token_ids[self.prompt_tokens : stop].tolist()
        return answer
