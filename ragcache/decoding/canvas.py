"""The canvas: the answer region of one request, all masks at first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import torch
from torch import Tensor

from ragcache.model.config import ModelConfig


class Canvas:
    """Token ids of prompt and answer; positions are absolute.

    Blocks are counted from the answer's first position; with `causal` from position 0, as the model's own
    attention does. `shift` is how far before a position the row stands whose output predicts it.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        length: int,
        block_length: int,
        mask_id: int,
        *,
        causal: bool = False,
        shift: int = 0,
    ) -> None:
        self.mask_id, self.causal, self.shift = mask_id, causal, shift
        self.prompt_tokens = len(prompt)
        self.length, self.block_length = length, block_length
        self.token_ids = torch.tensor([*prompt, *[mask_id] * length], dtype=torch.int64)

    @classmethod
    def of(cls, config: ModelConfig, prompt: Sequence[int], length: int, block_length: int) -> Self:
        """The canvas of a model, of `length` tokens or as many more as fill its canvases."""
        causal, shift = bool(config.causal_block), int(config.logits_shift)
        length = config.answer_tokens(length)
        return cls(prompt, length, block_length, config.mask_id, causal=causal, shift=shift)

    @property
    def tokens(self) -> int:
        """Prompt and canvas together."""
        return int(self.token_ids.shape[0])

    def blocks(self) -> Iterator[tuple[int, int]]:
        """`(start, stop)` of every block, left to right; the first and the last may be shorter."""
        start, origin = self.prompt_tokens, 0 if self.causal else self.prompt_tokens
        while start < self.tokens:
            number = (start - origin) // self.block_length
            stop = min(origin + (number + 1) * self.block_length, self.tokens)
            yield start, stop
            start = stop

    def seen_from(self, start: int) -> int:
        """The first position whose row sees the block that begins at `start` before it is decided.

        With `causal`, prompt tokens that share the first block with the answer do. With bidirectional
        attention every row does; caches leave them as they are to save time.
        """
        return start - start % self.block_length if self.causal else start

    def masked(self, start: int, stop: int) -> Tensor:
        """Positions still masked within `start:stop`."""
        return (self.token_ids[start:stop] == self.mask_id).nonzero().squeeze(-1) + start

    def predictors(self, positions: Tensor) -> Tensor:
        """The positions of the rows whose outputs predict `positions`; the first position predicts itself."""
        return (positions - self.shift).clamp_min(0)

    def commit(self, positions: Tensor, tokens: Tensor) -> None:
        """Write tokens for good."""
        self.token_ids[positions] = tokens

    def answer(self, stop: int | None = None) -> list[int]:
        """Answer ids up to absolute position `stop` (all when None)."""
        answer: list[int] = self.token_ids[self.prompt_tokens : stop].tolist()
        return answer
