"""Recording a page while its affix is encoded."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragcache.model.path import EveryRow, Values
from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows
from ragcache.page import Page


class PageRecorder(EveryRow):
    """Observer and row path of one affix: copies every layer's K (before RoPE) and V.

    Also the hidden states before each of the layers `depths`, which depth reuse splices in. `rows` are the
    affix's among those that are encoded (a scaffold may stand around it).
    """

    def __init__(self, depths: Sequence[int] = (), rows: slice = slice(None)) -> None:
        self.depths, self.kept = depths, rows
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self.hidden: dict[int, Tensor] = {}

    def enter(self, layer: int, x: Tensor, values: Values) -> tuple[Tensor, Tensor]:
        """See `ragcache.model.path.RowPath`."""
        if layer in self.depths:
            self.hidden[layer] = x[self.kept].detach().to("cpu", copy=True)
        return super().enter(layer, x, values)

    def observe(self, layer: int, rows: LayerRows, reads: Reads) -> None:
        """See `ragcache.model.ragged.Observer`."""
        for kept, made in ((self.keys, rows.k), (self.values, rows.v)):
            own = made[self.kept].detach().transpose(0, 1)
            kept.append(own.clone(memory_format=torch.contiguous_format).cpu())

    def page(self, token_ids: Tensor) -> Page:
        """The page of the tokens `[n]` just encoded, on the CPU."""
        return Page(token_ids.cpu(), tuple(self.keys), tuple(self.values), self.hidden)
