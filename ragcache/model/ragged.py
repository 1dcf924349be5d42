"""A batch of requests as one attention: who attends to what, which rows each layer computes, who looks on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor

from ragcache.model.attention import RequestKV
from ragcache.model.joint_attention import JointAttention, RequestReads
from ragcache.model.path import EveryRow, RowPath, Values
from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows


class Observer(Protocol):
    """Looks at the rows of one request, layer by layer, while a forward runs."""

    def observe(self, layer: int, rows: LayerRows, reads: Reads) -> None:
        """Called after the layer's K/V of the request were written; `reads` is what the rows attend to."""
        ...


@dataclass(frozen=True)
class ActiveRows:
    """Hidden states `x` `[n, hidden]`, the `rows` `[a]` of them that a layer computes, and whose they are."""

    x: Tensor
    rows: Tensor
    boundaries: tuple[int, ...]


class RaggedKV:
    """The attention of a batch: one `RequestKV` per request, its row path (None: every row), its observer."""

    def __init__(
        self,
        requests: Sequence[RequestKV],
        observers: Sequence[Observer | None] | None = None,
        paths: Sequence[RowPath | None] | None = None,
    ) -> None:
        self.requests = requests
        self.observers = observers or [None] * len(requests)
        given = paths or [None] * len(requests)
        self.paths = [path or EveryRow() for path in given] if any(given) else None
        self._planned: _Planned | None = None

    def enter(self, layer: int, x: Tensor, values: Values, boundaries: tuple[int, ...]) -> ActiveRows | None:
        """See `ragcache.model.transformer.Attention`."""
        if self.paths is None:
            return None
        hidden, rows, active = [], [], [0]
        for path, (start, stop) in zip(self.paths, pairwise(boundaries), strict=True):
            entered, own = path.enter(layer, x[start:stop], values)
            hidden.append(entered)
            rows.append(own + start)
            active.append(active[-1] + len(own))
        return ActiveRows(torch.cat(hidden), torch.cat(rows), tuple(active))

    def leave(self, layer: int, active: ActiveRows, computed: Tensor, boundaries: tuple[int, ...]) -> Tensor:
        """See `ragcache.model.transformer.Attention`."""
        spans = zip(pairwise(boundaries), pairwise(active.boundaries), strict=True)
        return torch.cat(
            [
                path.leave(layer, active.x[a:b], computed[c:d], active.rows[c:d] - a)
                for path, ((a, b), (c, d)) in zip(self.paths or (), spans, strict=True)
            ]
        )

    def attend(self, layer: int, rows: LayerRows, boundaries: tuple[int, ...]) -> Tensor:
        """See `ragcache.model.transformer.Attention`."""
        spans = [(n, a, b) for n, (a, b) in enumerate(pairwise(boundaries)) if a < b]
        own = {n: rows.take(slice(a, b)) for n, a, b in spans}
        for n, part in own.items():
            self.requests[n].write(layer, part)
        if not layer or self._planned is None or not self._planned.fits(rows.positions, boundaries):
            reads = [RequestReads(a, b, self.requests[n].reads(own[n].positions)) for n, a, b in spans]
            self._planned = _Planned(rows.positions, boundaries, JointAttention(reads))
        mixed = self._planned.attention.attend(layer, rows)
        for (n, part), request in zip(own.items(), self._planned.attention.requests, strict=True):
            observer = self.observers[n]
            if observer is not None:
                observer.observe(layer, part, request.reads)
        return mixed


@dataclass(frozen=True)
class _Planned:
    """Attention of the rows at `positions`, as they were at the last layer: mostly they are at the next."""

    positions: Tensor
    boundaries: tuple[int, ...]
    attention: JointAttention

    def fits(self, positions: Tensor, boundaries: tuple[int, ...]) -> bool:
        """Whether these are the same rows, on the same device."""
        if self.positions.device != positions.device or self.boundaries != boundaries:
            return False
        return positions is self.positions or torch.equal(positions, self.positions)
