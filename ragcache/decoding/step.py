"""A denoising step as a value: sessions yield steps, the driver runs many of them in one forward."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar, cast

import torch
from torch import Tensor

from ragcache.model.attention import RequestKV
from ragcache.model.diffusion_gemma import DiffusionGemma, EncodedPrompt
from ragcache.model.path import RowPath
from ragcache.model.ragged import Observer, RaggedKV
from ragcache.model.rows import Rows
from ragcache.model.transformer import MaskPredictor

Predictor: TypeAlias = MaskPredictor | DiffusionGemma
StepKind = Literal["full", "encode", "probe", "refresh", "refine"]


@dataclass(frozen=True)
class Step:
    """One request's part of a forward; `kind` says what for (full, encode, probe, refresh or refine).

    Rows are given by `positions` `[n]` and `token_ids` `[n]`; logits are wanted at the rows `sample` `[m]`,
    indices into `positions`. K/V go to `kv`, which is of the predictor's kind; `observer` looks
    on; `path` says which layers compute which rows (None: every row, all the way).
    """

    positions: Tensor
    token_ids: Tensor
    sample: Tensor
    kv: RequestKV | EncodedPrompt
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


def forward(predictor: Predictor, steps: Sequence[Step]) -> list[Tensor]:
    """Run the steps of several requests in one forward; each one's logits `[m, vocabulary]`.

    A network that is not ours knows no ragged rows: it has a forward for each step, whose last rows are
    sampled.
    """
    if isinstance(predictor, DiffusionGemma):
        return [
            predictor.logits(s.positions, s.token_ids, len(s.sample), cast(EncodedPrompt, s.kv))
            for s in steps
        ]
    device = predictor.device
    rows = Rows.join([Rows.single(s.token_ids.to(device), s.positions.to(device)) for s in steps])
    sampled = torch.cat([s.sample + start for s, (start, _) in zip(steps, rows.spans(), strict=True)])
    own = [cast(RequestKV, s.kv) for s in steps]
    attention = RaggedKV(own, [s.observer for s in steps], [s.path for s in steps])
    with torch.inference_mode():
        hidden = predictor(rows, attention, sampled.to(device))
        logits = predictor.logits(hidden) if len(sampled) else hidden
    return list(logits.split([len(s.sample) for s in steps]))


def advance(work: Work[T], logits: Tensor | None) -> Step:
    """The next step of `work`; `logits` answer its last one, None starts it. `StopIteration` at the end."""
    return next(work) if logits is None else work.send(logits)


def run(predictor: Predictor, work: Work[T]) -> T:
    """Run one piece of work to its end (a batch of one)."""
    logits: Tensor | None = None
    while True:
        try:
            step = advance(work, logits)
        except StopIteration as end:
            result: T = end.value
            return result
        logits = forward(predictor, [step])[0]
