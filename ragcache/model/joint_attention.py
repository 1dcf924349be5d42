"""Attention of a whole batch: rows that read the same page attend to it together, whoever's rows they are.

A page's keys are turned once by their index inside the affix, and a query at position p by p - offset. So the
offset is in the query, and the queries of different requests simply stand one below another: one product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from ragcache.model.attention import attend_all
from ragcache.model.kernels.choice import Kernel, kernel_for, turns_ahead
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
class _Group:
    """Rows `index` that read a page, no two alike: `part` of its readers. What they read goes to `slot`."""

    index: Tensor
    part: slice
    slot: int


@dataclass(frozen=True)
class _Readers:
    """The rows of a batch that read one page: those of `part` among the readers of all pages.

    There is more than one group where a request has the page more than once. `turn` is what they yet need.
    """

    page: Page
    groups: tuple[_Group, ...]
    part: slice
    turn: Turn
    seen: Tensor | None


class JointAttention:
    """Planned once for the rows of a batch, then run at every layer that computes the same rows."""

    def __init__(self, requests: Sequence[RequestReads]) -> None:
        self.requests = requests
        shared = [request for request in requests if request.reads.shared]
        self._shared = _SharedReads(shared) if shared else None

    def attend(self, layer: int, rows: LayerRows) -> Tensor:
        """Attention output `[n, heads, head_dim]` of the rows, whose K/V were written before."""
        if self._shared is not None and len(self._shared.requests) == len(self.requests):
            return self._shared.attend(layer, rows.q, rows.rotated_q)
        merged: Iterator[Tensor] = iter(())
        if self._shared is not None:
            index = self._shared.index.to(rows.q.device)
            together = self._shared.attend(layer, rows.q[index], rows.rotated_q[index])
            merged = iter(torch.split(together, [request.rows for request in self._shared.requests]))
        mixed = []
        for request in self.requests:
            if request.reads.shared:
                mixed.append(next(merged))
            else:
                q = rows.rotated_q[request.start : request.stop].transpose(0, 1)
                own = attend_all(q, *request.reads.own(layer), request.reads.seen)
                mixed.append(own.transpose(0, 1))
        return torch.cat(mixed) if len(mixed) > 1 else mixed[0]


class _SharedReads:
    """Those requests of a batch that read shared pages: their rows, `index` of the batch's, are one batch."""

    def __init__(self, requests: Sequence[RequestReads]) -> None:
        self.requests = requests
        self.index = torch.cat([torch.arange(request.start, request.stop) for request in requests])
        self.bounds = [0, *accumulate(request.rows for request in requests)]
        self.readers, self.slots = list[_Readers](), 1
        for page, times in _by_page(requests).items():
            self._add_readers(page, times)
        self.turned = torch.cat([group.index for readers in self.readers for group in readers.groups])
        distances = torch.cat([readers.turn.distances for readers in self.readers])
        self.turn = Turn(distances, self.readers[0].turn.frequencies)
        self._parts: Partial | None = None

    def attend(self, layer: int, q: Tensor, rotated_q: Tensor) -> Tensor:
        """`[n, heads, head_dim]`: of each row its own columns and the shared pages', merged.

        `q` and `rotated_q` are `[n, heads, head_dim]`, the rows of these requests alone.
        """
        parts = self._room(q)
        kernel = kernel_for(q.device, q.dtype)
        for readers, read in zip(self.readers, self._of_pages(layer, q, kernel), strict=True):
            for group in readers.groups:
                parts.out[group.slot].index_copy_(1, group.index, read.out[:, group.part])
                parts.lse[group.slot].index_copy_(1, group.index, read.lse[:, group.part])
        for request, (start, stop) in zip(self.requests, pairwise(self.bounds), strict=True):
            keys, values = request.reads.own(layer)
            own = kernel(rotated_q[start:stop].transpose(0, 1), keys, values, request.reads.seen)
            parts.out[0, :, start:stop], parts.lse[0, :, start:stop] = own.out, own.lse
        return merge(parts).to(q.dtype).transpose(0, 1)

    def _of_pages(self, layer: int, q: Tensor, kernel: Kernel) -> Iterator[Partial]:
        """Attention to each page of all rows that read it."""
        every = q.index_select(0, self.turned).transpose(0, 1)
        ahead = turns_ahead(q.device)
        if ahead:
            every = self.turn.rotate(every)
        for readers in self.readers:
            keys, values = readers.page.keys[layer], readers.page.values[layer]
            turn = None if ahead else readers.turn
            yield kernel(every[:, readers.part], keys, values, readers.seen, turn)

    def _room(self, q: Tensor) -> Partial:
        """For every row's parts: its own columns first, then the pages; what it does not read weighs nothing.

        The same at every layer, where the same places are written.
        """
        if self._parts is None or self._parts.out.device != q.device:
            n, heads, head_dim = q.shape
            out = q.new_zeros((self.slots, heads, n, head_dim), dtype=torch.float32)
            self._parts = Partial(out, out.new_full(out.shape[:-1], float("-inf")))
        return self._parts

    def _add_readers(self, page: Page, times: Sequence[Sequence[tuple[int, PageRead]]]) -> None:
        groups, row = list[_Group](), 0
        device = times[0][0][1].turn.distances.device
        for reads in times:
            spans = [torch.arange(self.bounds[number], self.bounds[number + 1]) for number, _ in reads]
            index = torch.cat(spans).to(device)
            groups.append(_Group(index, slice(row, row + len(index)), self.slots))
            row, self.slots = row + len(index), self.slots + 1
        every = [one for reads in times for one in reads]
        distances = torch.cat([read.turn.distances for _, read in every])
        counts = [self.requests[number].rows for number, _ in every]
        before = self.readers[-1].part.stop if self.readers else 0
        self.readers.append(
            _Readers(
                page,
                tuple(groups),
                slice(before, before + row),
                Turn(distances, every[0][1].turn.frequencies),
                seen_together([read.seen for _, read in every], counts),
            )
        )


def _by_page(requests: Sequence[RequestReads]) -> dict[Page, list[list[tuple[int, PageRead]]]]:
    """For each page who reads it, by number: first all that do, then those who do once more, and so on."""
    found: dict[Page, list[list[tuple[int, PageRead]]]] = {}
    for number, request in enumerate(requests):
        seen: Counter[Page] = Counter()
        for read in request.reads.shared:
            times = found.setdefault(read.page, [])
            if seen[read.page] == len(times):
                times.append([])
            times[seen[read.page]].append((number, read))
            seen[read.page] += 1
    return found


def merge(parts: Partial) -> Tensor:
    """One attention output `[heads, n, head_dim]`, fp32, of partial ones `[parts, ...]`, by their mass.

    Part after part: all their products at once would be written and read again, which takes longer.
    """
    shares = torch.softmax(parts.lse, dim=0)[..., None]
    merged = shares[0] * parts.out[0]
    for share, out in zip(shares[1:], parts.out[1:], strict=True):
        merged.addcmul_(share, out)
    return merged


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
