"""A batch's attention, by backend: `python -m benchmarks.attention`.

Requests have the same affixes in another order; a fifth of the tokens are anchors, others in every request;
keys and values are random. Seconds are of a few layers, planned once as in a forward. A refine computes a
block of each request, a refresh its live rows, `full` all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks.figures import timed, turns
from benchmarks.refresh import Workload
from ragcache.model.attention import Backend, GatherKV, RequestKV
from ragcache.model.config import ModelConfig
from ragcache.model.ragged import RaggedKV
from ragcache.model.random_weights import random_config
from ragcache.model.rope import angles, rotate
from ragcache.model.rows import LayerRows
from ragcache.model.segment import Segment, whole
from ragcache.model.segment_attention import SegmentBackend
from ragcache.page import Page

CPU = torch.device("cpu")
BUDGET = 0.2
LAYERS = 4


@dataclass(frozen=True)
class Batch:
    """The attention of `requests` requests of `workload` in `dtype`."""

    workload: Workload
    requests: int
    config: ModelConfig
    dtype: torch.dtype
    pages: list[Page] = field(default_factory=list)

    def __post_init__(self) -> None:
        sizes = [tokens for is_affix, tokens in self.workload.parts() if is_affix]
        self.pages.extend(Page(torch.arange(n), self._layers(n), self._layers(n)) for n in sizes)

    @property
    def tokens(self) -> int:
        """Prompt and canvas."""
        return self.workload.prompt + self.workload.canvas

    def segments(self, request: int) -> list[Segment]:
        """The pages, rotated by the number of the request, with its anchors hidden."""
        order = self.pages[request % len(self.pages) :] + self.pages[: request % len(self.pages)]
        generator, pages, offset, segments = torch.Generator().manual_seed(request), iter(order), 0, []
        for is_affix, tokens in self.workload.parts():
            if is_affix:
                anchors = torch.randperm(tokens, generator=generator)[: math.ceil(BUDGET * tokens)] + offset
                segments.append(whole(next(pages), offset).without(anchors))
            offset += tokens
        return segments

    def kvs(self, backend: Backend) -> list[RequestKV]:
        """One a request."""
        return [
            backend(self.config, self.tokens, self.segments(request), self.dtype, CPU)
            for request in range(self.requests)
        ]

    def live(self, request: int) -> Tensor:
        """Positions that a refresh computes."""
        live = torch.ones(self.tokens, dtype=torch.bool)
        for segment in self.segments(request):
            live[segment.positions] = False
        return live.nonzero().squeeze(-1)

    def rows(self, positions: Sequence[Tensor]) -> tuple[LayerRows, tuple[int, ...]]:
        """Random queries, keys and values at the positions of every request, and their boundaries."""
        every = torch.cat([*positions])
        q, k, v = (self._random(len(every)).transpose(0, 1).contiguous() for _ in range(3))
        turn = angles(every, self.config.rotary_dim, self.config.rope_theta)
        counts = torch.tensor([0, *(len(own) for own in positions)]).cumsum(0)
        return LayerRows(q, k, v, rotate(q, *turn), rotate(k, *turn), every), tuple(counts.tolist())

    def _layers(self, tokens: int) -> tuple[Tensor, ...]:
        return tuple(self._random(tokens) for _ in range(self.config.layers))

    def _random(self, tokens: int) -> Tensor:
        return torch.randn(self.config.heads, tokens, self.config.head_dim).to(self.dtype)


def together(kvs: Sequence[RequestKV], rows: LayerRows, boundaries: tuple[int, ...]) -> None:
    """All requests at once."""
    ragged = RaggedKV(kvs)
    for layer in range(LAYERS):
        ragged.attend(layer, rows, boundaries)


def one_by_one(kvs: Sequence[RequestKV], rows: LayerRows, boundaries: tuple[int, ...]) -> None:
    """Every request alone."""
    for kv, start, stop in zip(kvs, boundaries, boundaries[1:], strict=False):
        together([kv], rows.take(slice(start, stop)), (0, stop - start))


def measure(batch: Batch, block: int, repeats: int) -> dict[str, dict[str, float]]:
    """Median seconds of each kind of forward, by backend, and whether the pages were read jointly."""
    last = torch.arange(batch.tokens - block, batch.tokens)
    numbers = range(batch.requests)
    kinds = {"refine": [last for _ in numbers], "refresh": [batch.live(n) for n in numbers]}
    kvs = {
        "gather": batch.kvs(GatherKV),
        "pages": batch.kvs(SegmentBackend(query_cost=0.0)),
        "segment": batch.kvs(SegmentBackend()),
    }
    result = {}
    for kind, positions in kinds.items():
        rows = batch.rows(positions)
        works: dict[str, Callable[[], None]] = {
            "gather": partial(together, kvs["gather"], *rows),
            "one by one": partial(one_by_one, kvs["pages"], *rows),
            "joint": partial(together, kvs["pages"], *rows),
            "chosen": partial(together, kvs["segment"], *rows),
        }
        if kind == "refresh":
            everything = batch.rows([torch.arange(batch.tokens) for _ in numbers])
            works["full"] = partial(together, kvs["gather"], *everything)
        result[kind] = turns(repeats, **{name: partial(timed, work) for name, work in works.items()})
    return result


def shape(width: int) -> ModelConfig:
    """Heads of 64."""
    return random_config(layers=LAYERS, width=width)


def main(
    prompt: int = 4096, canvas: int = 64, block: int = 32, requests: int = 8, affixes: int = 8,
    width: int = 768, repeats: int = 5,
) -> None:  # fmt: skip
    """Measure in bf16 and print."""
    torch.manual_seed(0)
    workload = Workload(prompt=prompt, canvas=canvas, affixes=affixes)
    batch = Batch(workload, requests, shape(width), torch.bfloat16)
    with torch.inference_mode():
        seconds = measure(batch, block, repeats)
    table = Table("forward", "backend", "median s", "of gather")
    for kind, by_backend in seconds.items():
        for name, value in by_backend.items():
            table.add_row(kind, name, f"{value:.5f}", f"{value / by_backend['gather']:.3f}")
    Console().print(table)
    live = sum(len(batch.live(n)) for n in range(requests)) / (requests * batch.tokens)
    result = {
        "refresh_ratio": seconds["refresh"]["chosen"] / seconds["refresh"]["full"],
        "live_row_fraction": live,
        "refine_ratio": seconds["refine"]["chosen"] / seconds["refine"]["gather"],
        "joint_speedup": seconds["refine"]["one by one"] / seconds["refine"]["joint"],
        "seconds": seconds,
        "threads": torch.get_num_threads(),
        "repeats": repeats,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    typer.run(main)
