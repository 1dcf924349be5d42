"""Encode affixes: the same forward, over the affix's tokens alone or within a scaffold."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ragcache.decoding.step import Predictor, Step, forward
from ragcache.model.attention import GatherKV
from ragcache.model.diffusion_gemma import DiffusionGemma
from ragcache.model.recorder import PageRecorder
from ragcache.page import Page


@dataclass(frozen=True)
class Scaffold:
    """Token ids that stand `before` and `after` an affix while it is encoded; none means alone."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def digest(self) -> str:
        """What an affix key says of the context: "alone", or 64 hex digits."""
        if self == ALONE:
            return "alone"
        return hashlib.sha256(repr((self.before, self.after)).encode()).hexdigest()


ALONE = Scaffold()


def encode_affixes(
    predictor: Predictor,
    affixes: Sequence[Sequence[int]],
    *,
    scaffolds: Sequence[Scaffold] | None = None,
    depths: Sequence[int] = (),
) -> list[Page]:
    """Pages of several affixes, in one ragged forward (ACache encodes each alone, at positions 0..n-1).

    With `scaffolds`, one per affix, each is encoded within its own. A page holds the affix's rows only, with
    the hidden states before each of the layers `depths`. DiffusionGemma, which looks back only, has neither
    these nor a use for what stands behind an affix.
    """
    around = scaffolds or [ALONE] * len(affixes)
    if isinstance(predictor, DiffusionGemma):
        return predictor.pages(affixes, [own.before for own in around])
    steps, recorders = [], []
    for ids, scaffold in zip(affixes, around, strict=True):
        token_ids = torch.tensor([*scaffold.before, *ids, *scaffold.after], dtype=torch.int64)
        kv = GatherKV(predictor.config, len(token_ids), (), predictor.dtype, predictor.devices)
        start = len(scaffold.before)
        recorder = PageRecorder(depths, slice(start, start + len(ids)))
        recorders.append(recorder)
        nothing = torch.empty(0, dtype=torch.int64)
        path = recorder if depths else None
        steps.append(Step(torch.arange(len(token_ids)), token_ids, nothing, kv, recorder, "encode", path))
    forward(predictor, steps)
    return [recorder.page(torch.tensor(ids)) for recorder, ids in zip(recorders, affixes, strict=True)]
