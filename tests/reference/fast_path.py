"""Drives the code under test as an engine would: pages, plan, denoising, alone or jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from ragcache.decoding.caches import Live
from ragcache.decoding.canvas import Canvas
from ragcache.decoding.defaults import with_defaults
from ragcache.decoding.denoise import DecodingOptions, denoise
from ragcache.decoding.encode import encode_affixes
from ragcache.decoding.step import Step, Work, forward, run
from ragcache.model.attention import Backend, GatherKV, RequestKV
from ragcache.model.ragged import RaggedKV
from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows, Rows
from ragcache.model.segment import Segment, whole
from ragcache.model.segment_attention import SegmentBackend
from ragcache.model.transformer import MaskPredictor
from ragcache.page import Page
from ragcache.reuse.plan import depth_table, make_plan
from ragcache.reuse.policy import ReusePolicy

Parts = Sequence[tuple[bool, Sequence[int]]]
BACKENDS = ["gather", "joint", "segment"]


def backend_named(name: str) -> Backend:
    """A fresh backend; "joint" reads pages where they lie whatever that costs."""
    if name == "gather":
        return GatherKV
    return SegmentBackend(query_cost=0.0) if name == "joint" else SegmentBackend()


@dataclass(frozen=True)
class Outcome:
    """What a request gave: anchor positions, answer ids."""

    anchors: list[int]
    tokens: list[int]


@dataclass
class Fast:
    """One model, one backend, and the pages of every affix seen so far."""

    model: MaskPredictor
    backend: Backend = GatherKV
    pages: dict[tuple[int, ...], Page] = field(default_factory=dict)

    def segments(self, parts: Parts, depths: Sequence[int] = ()) -> list[Segment]:
        """The affixes of a prompt at their offsets; equal affixes share a page."""
        segments, offset = [], 0
        for is_affix, ids in parts:
            if is_affix:
                key = tuple(ids)
                if key not in self.pages or not set(depths) <= set(self.pages[key].hidden):
                    self.pages[key] = encode_affixes(self.model, [ids], depths=depths)[0]
                segments.append(whole(self.pages[key], offset))
            offset += len(ids)
        return segments

    def work(self, parts: Parts, policy: ReusePolicy, options: DecodingOptions) -> Work[Outcome]:
        """One request, as steps."""
        canvas = self.canvas(parts, options)
        table = depth_table(policy, self.model.config.layers, None)
        segments = self.segments(parts, table.checkpoints if table else ())
        plan = yield from make_plan(self.model, canvas, segments, policy, self.backend, table)
        yield from denoise(canvas, plan.at_block, plan.kv, with_defaults(options, self.model.config))
        return Outcome(plan.anchors.tolist(), canvas.answer())

    def answer(self, parts: Parts, policy: ReusePolicy, options: DecodingOptions) -> Outcome:
        """One request, alone."""
        return run(self.model, self.work(parts, policy, options))

    def uncached(self, parts: Parts, options: DecodingOptions) -> list[int]:
        """The same prompt without any affix: the plain intra-request cache."""
        canvas = self.canvas(parts, options)
        kv = self.backend(self.model.config, canvas.tokens, (), self.model.dtype, self.model.devices)
        options = with_defaults(options, self.model.config)
        run(self.model, denoise(canvas, lambda block: Live(torch.arange(canvas.tokens)), kv, options))
        return canvas.answer()

    def canvas(self, parts: Parts, options: DecodingOptions) -> Canvas:
        """The prompt, and masks after it."""
        prompt = [i for _, ids in parts for i in ids]
        block_length = with_defaults(options, self.model.config).block_length
        return Canvas.of(self.model.config, prompt, options.max_tokens, block_length)

    def logits(self, ids: Sequence[int], first_position: int = 0) -> torch.Tensor:
        """Logits `[n, vocabulary]` of a whole sequence that starts at `first_position`."""
        config, count = self.model.config, len(ids)
        kv = self.backend(config, count, (), self.model.dtype, self.model.devices)
        rows = Rows.single(torch.tensor(ids), torch.arange(count) + first_position)
        attention = RaggedKV([_Shifted(kv, first_position)])
        return self.model.logits(self.model(rows, attention))


@dataclass(frozen=True)
class _Shifted:
    """Stores the rows of position p in column p - `by`; rotations keep the true positions."""

    inner: RequestKV
    by: int

    @property
    def size_bytes(self) -> int:
        return self.inner.size_bytes

    def write(self, layer: int, rows: LayerRows) -> None:
        self.inner.write(layer, replace(rows, positions=rows.positions - self.by))

    def reads(self, positions: torch.Tensor) -> Reads:
        return self.inner.reads(positions - self.by)

    def write_values(self, layer: int, positions: torch.Tensor, values: torch.Tensor) -> None:
        self.inner.write_values(layer, positions - self.by, values)

    def promote(self, positions: torch.Tensor, depth: int = 0) -> RequestKV:
        return _Shifted(self.inner.promote(positions - self.by, depth), self.by)

    def show(self, positions: int) -> None:
        self.inner.show(positions - self.by)


def run_jointly(model: MaskPredictor, works: Sequence[Work[Outcome]]) -> tuple[list[Outcome], list[int]]:
    """All requests side by side, one forward for whatever is waiting; outcomes, and requests per forward."""
    outcomes: dict[int, Outcome] = {}
    waiting: dict[int, Step] = {}
    together = []
    for index, work in enumerate(works):
        waiting[index] = next(work)
    while waiting:
        together.append(len(waiting))
        logits = forward(model, list(waiting.values()))
        for index, row_logits in zip(list(waiting), logits, strict=True):
            try:
                waiting[index] = works[index].send(row_logits)
            except StopIteration as end:
                outcomes[index] = end.value
                del waiting[index]
    return [outcomes[index] for index in range(len(works))], together
