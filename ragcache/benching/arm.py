"""One system at work: an engine of its own, warmed up, every affix in the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import fmean

from ragcache.benching.drive import Meter, Served, serve
from ragcache.benching.load import Load
from ragcache.benching.systems import System
from ragcache.benching.workloads import Asked
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.model.attention import Backend, GatherKV
from ragcache.model.segment_attention import SegmentBackend
from ragcache.prompt import Affix, Prompt
from ragcache.registry import Registry


@dataclass(frozen=True)
class Measured:
    """What one system did. Times in wall seconds, one of `refresh_s` for every refresh (see `Meter`).

    `seconds` are those of all rounds, `answer_tokens` end before EOS. `private_kv_bytes` are the most that
    requests held, `reserved_kv_bytes` the most that the engine set aside for them. `live_rows` is the mean
    share of prompt and canvas that the first refresh computed, `refresh_rows` how many rows that are,
    `hit_rate` the share of affix uses whose page was there.
    """

    system: System
    requests: int
    seconds: float
    latency_s: tuple[float, ...]
    refresh_s: tuple[float, ...]
    answer_tokens: int
    private_kv_bytes: int
    reserved_kv_bytes: int
    page_bytes: int
    live_rows: float
    refresh_rows: float
    hit_rate: float


@dataclass
class Arm:
    """A system with an engine of its own, and what it served so far."""

    system: System
    engine: Engine
    meter: Meter
    served: list[Served] = field(default_factory=list)
    seconds: float = 0.0

    def round(self, requests: Sequence[Request], at_s: Sequence[float]) -> None:
        """Serve some more."""
        served, seconds = serve(self.engine, requests, at_s)
        self.served += served
        self.seconds += seconds

    def measured(self, canvas: int) -> Measured:
        """Of everything served."""
        completions = [one.completion for one in self.served]
        uses = [use.status for one in completions for use in one.reuse.affixes]
        eos = self.engine.model.predictor.config.eos_id
        return Measured(
            system=self.system,
            requests=len(completions),
            seconds=self.seconds,
            latency_s=tuple(one.latency_s for one in self.served),
            refresh_s=tuple(self.meter.refresh_s),
            answer_tokens=sum(before(one.token_ids, eos) for one in completions),
            private_kv_bytes=self.engine.private_kv.held_peak_bytes,
            reserved_kv_bytes=self.engine.private_kv.peak_bytes,
            page_bytes=self.engine.pages_peak_bytes,
            live_rows=fmean(one.live_rows for one in completions),
            refresh_rows=fmean(one.live_rows * (one.reuse.prompt_tokens + canvas) for one in completions),
            hit_rate=uses.count("hit") / len(uses) if uses else 0.0,
        )


@contextmanager
def open_arm(
    model: LoadedModel, registry: Registry, system: System, load: Load, asked: Asked
) -> Iterator[Arm]:
    """The arm of `system`, warmed up, with every affix in the store."""
    backend: Backend = SegmentBackend() if system.policy.reuses else GatherKV
    store = registry if system.policy.reuses else None
    options = load.options(system.cache)
    if store is not None:  # with an engine of its own: the peaks of the other are those of the workload
        unscored = replace(system.policy, budget=0.0)  # pages are the same whatever becomes of them
        with Engine(model, store, policy=unscored, backend=backend) as engine:
            once = replace(options, max_tokens=1, block_length=1)
            prompts = covering(model, asked, load.workload.prompt)
            engine.generate([Request(prompt, once) for prompt in prompts])
    meter = Meter(model.predictor.config.layers)
    with Engine(
        model,
        store,
        policy=system.policy,
        max_batch=load.batch,
        backend=backend,
        max_waiting=load.requests,
        on_forward=meter,
    ) as engine:
        short = replace(options, max_tokens=min(load.block, load.canvas))
        engine.generate([Request(asked.prompts[0], short)])
        meter.clear()
        yield Arm(system, engine, meter)


def covering(model: LoadedModel, asked: Asked, room: int) -> Iterator[Prompt]:
    """Prompts of at most `room` tokens that together hold every affix once."""
    group: list[Affix] = []
    used = 0
    for affix in asked.affixes:
        tokens = len(model.tokenizer.encode(affix.text).ids)
        if group and used + tokens > room:
            yield Prompt.plain(*group)
            group, used = [], 0
        group.append(affix)
        used += tokens
    yield Prompt.plain(*group)


def before(token_ids: Sequence[int], eos: int) -> int:
    """How many tokens stand before the first `eos`."""
    return token_ids.index(eos) if eos in token_ids else len(token_ids)
