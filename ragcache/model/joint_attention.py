"""Attention of a whole batch: rows that read the same page attend to it together, whoever's rows they are.

A page's keys are turned once by their index inside the affix, and a query at position p by p - offset. So the
offset is in the query, and the queries of different requests simply stand one below another: one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.model.attention import attend_all
from ragcache.model.kernels.choice import kernel_for
from ragcache.model.kernels.plain import Partial
from ragcache.model.reads import PageRead, Reads
from ragcache.model.rope import Turn
from ragcache.model.rows import LayerRows
from ragcache.page import Page


@dataclass(frozen=True)
class RequestReads:
    """Rows `start:stop` of a batch, all of one request, and what they attend to."""

    start: int
    stop: int
    reads: Reads

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.stop - self.start


@dataclass(frozen=True)
class _Readers:
    """All rows of a batch that read one page: by number, the requests they belong to, in turn.

    Their queries are at `index` `[sum of counts]` of the batch.
    """

    page: Page
    requests: tuple[int, ...]
    counts: list[int]
    index: Tensor
    turn: Turn
    seen: Tensor | None

    def attend(self, layer: int, q: Tensor) -> list[Partial]:
        """Attention of their part of all queries `[heads, n, head_dim]`, request by request."""
        keys, values = self.page.keys[layer], self.page.values[layer]
        own = q.index_select(1, self.index)
        part = kernel_for(q.device, q.dtype)(own, keys, values, self.seen, self.turn)
        outs, lses = (torch.split(whole, self.counts, dim=1) for whole in (part.out, part.lse))
        return [Partial(out, lse) for out, lse in zip(outs, lses, strict=True)]


class JointAttention:
    """Planned once for the rows of a batch, then run at every layer that computes the same rows."""

    def __init__(self, requests: Sequence[RequestReads]) -> None:
        self.requests = requests
        by_page: dict[Page, list[tuple[int, PageRead]]] = {}
        for number, request in enumerate(requests):
            for read in request.reads.shared:
                by_page.setdefault(read.page, []).append((number, read))
        self.readers = [self._readers(page, reads) for page, reads in by_page.items()]

    def attend(self, layer: int, rows: LayerRows) -> Tensor:
        """Attention output `[n, heads, head_dim]` of the rows, whose K/V were written before."""
        parts = self._of_pages(layer, rows)
        mixed = [
            self._of_request(layer, rows, request, own)
            for request, own in zip(self.requests, parts, strict=True)
        ]
        return torch.cat(mixed) if len(mixed) > 1 else mixed[0]

    def _of_pages(self, layer: int, rows: LayerRows) -> list[list[Partial]]:
        """For every request its attention to each shared page it reads."""
        parts: list[list[Partial]] = [[] for _ in self.requests]
        q = rows.q.transpose(0, 1)
        for readers in self.readers:
            for number, part in zip(readers.requests, readers.attend(layer, q), strict=True):
                parts[number].append(part)
        return parts

    def _of_request(
        self, layer: int, rows: LayerRows, request: RequestReads, shared: list[Partial]
    ) -> Tensor:
        """`[rows, heads, head_dim]`: its own columns, merged with what it read in shared pages."""
        q = rows.rotated_q[request.start : request.stop].transpose(0, 1)
        keys, values = request.reads.own(layer)
        if not shared:
            return attend_all(q, keys, values, request.reads.seen).transpose(0, 1)
        own = kernel_for(q.device, q.dtype)(q, keys, values, request.reads.seen)
        return merge([own, *shared]).to(values.dtype).transpose(0, 1)

    def _readers(self, page: Page, reads: Sequence[tuple[int, PageRead]]) -> _Readers:
        numbers = tuple(number for number, _ in reads)
        own = [self.requests[number] for number in numbers]
        counts, turns = [one.rows for one in own], [read.turn for _, read in reads]
        distances = torch.cat([turn.distances for turn in turns])
        index = torch.cat([torch.arange(one.start, one.stop, device=distances.device) for one in own])
        seen = seen_together([read.seen for _, read in reads], counts)
        return _Readers(page, numbers, counts, index, Turn(distances, turns[0].frequencies), seen)


def merge(parts: Sequence[Partial]) -> Tensor:
    """One attention output `[heads, n, head_dim]`, fp32, from partial ones, by their share of the mass."""
    first, *others = parts
    share = torch.softmax(torch.stack([part.lse for part in parts]), dim=0)[..., None]
    out = share[0] * first.out
    for weight, part in zip(share[1:], others, strict=True):
        out.addcmul_(weight, part.out)
    return out


def seen_together(seen: Sequence[Tensor | None], counts: Sequence[int]) -> Tensor | None:
    """What all rows see of one page: `[m]` where that is the same for all, else `[sum of counts, m]`."""
    known = [one for one in seen if one is not None]
    if not known:
        return None
    first = known[0]
    if len(known) == len(seen) and first.ndim == 1 and all(torch.equal(one, first) for one in known):
        return first
    every = torch.ones(first.shape[-1:], dtype=torch.bool, device=first.device)
    rows = [(every if one is None else one).expand(n, -1) for one, n in zip(seen, counts, strict=True)]
    return torch.cat(rows)
