"""A denoising step as a value: sessions yield steps, the driver runs many of them in one forward."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import torch
from torch import Tensor

from ragcache.model.attention import RequestKV
from ragcache.model.path import RowPath
from ragcache.model.ragged import Observer, RaggedKV
from ragcache.model.rows import Rows
from ragcache.model.transformer import MaskPredictor

StepKind = Literal["full", "encode", "probe", "refresh", "refine"]


@dataclass(frozen=True)
class Step:
    """One request's part of a forward; `kind` says what for (full, encode, probe, refresh or refine).

    Rows are given by `positions` `[n]` and `token_ids` `[n]`; logits are wanted at the rows `sample` `[m]`,
    indices into `positions`. K/V go to `kv`; `observer` looks on; `path` says which layers compute which rows
    (None: every row, all the way).
    """

    positions: Tensor
    token_ids: Tensor
    sample: Tensor
    kv: RequestKV
    observer: Observer | None = None
    kind: StepKind = "refine"
    path: RowPath | None = None

    def cost(self, layers: int) -> float:
        """What the forward costs, in rows through all `layers`."""
        count = len(self.positions)
        return count if self.path is None else self.path.rows(count, layers)


T = TypeVar("T")
# A piece of work on one request: yields steps, receives their logits [m, vocabulary], returns its result.
Work: TypeAlias = Generator[Step, Tensor, T]


def forward(predictor: MaskPredictor, steps: Sequence[Step]) -> list[Tensor]:
    """Run the steps of several requests in one forward; each one's logits `[m, vocabulary]`."""
    device = predictor.device
    rows = Rows.join([Rows.single(s.token_ids.to(device), s.positions.to(device)) for s in steps])
    sampled = torch.cat([s.sample + start for s, (start, _) in zip(steps, rows.spans(), strict=True)])
    attention = RaggedKV([s.kv for s in steps], [s.observer for s in steps], [s.path for s in steps])
    with torch.inference_mode():
        hidden = predictor(rows, attention, sampled.to(device))
        logits = predictor.logits(hidden) if len(sampled) else hidden
    return list(logits.split([len(s.sample) for s in steps]))


def advance(work: Work[T], logits: Tensor | None) -> Step:
    """The next step of `work`; `logits` answer its last one, None starts it. `StopIteration` at the end."""
    return next(work) if logits is None else work.send(logits)


def run(predictor: MaskPredictor, work: Work[T]) -> T:
    """Run one piece of work to its end (a batch of one)."""
    logits: Tensor | None = None
    while True:
        try:
            step = advance(work, logits)
        except StopIteration as end:
            result: T = end.value
            return result
        logits = forward(predictor, [step])[0]
