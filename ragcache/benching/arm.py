"""One system at work: an engine of its own, warmed up, every affix in the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import fmean

from ragcache.benching.drive import Forward, Meter, Pace, Served, alone_s, serve
from ragcache.benching.load import Load
from ragcache.benching.models import never_stops
from ragcache.benching.systems import System
from ragcache.benching.workloads import Asked
from ragcache.engine import Completion, Engine, LoadedModel, Request
from ragcache.engine.answer import AnswerReader
from ragcache.evaluation.metrics import exact_match
from ragcache.model.attention import Backend, GatherKV
from ragcache.model.segment_attention import SegmentBackend
from ragcache.prompt import Affix, Prompt
from ragcache.registry import Registry


@dataclass(frozen=True)
class Measured:
    """What one system did. Times in wall seconds.

    `refresh_s` are those of each refresh that had its forward to itself, of requests served one at a time;
    `loaded_refresh_s` those from the moment on at which a refresh could have run, under the load, until it
    had: others' forwards are in them. `refine_alone` and `refine` are the pace of refines then and under the
    load, None where none ran without steps of another kind. `same` is the share of the requests served
    alone that got the same tokens under the load.

    `seconds` are those of all rounds, `answer_tokens` end before the first stop token, `em` is the share of
    answers that are the expected ones (None where none are known). `private_kv_bytes` are the most that
    requests held, `reserved_kv_bytes` the most that the engine set aside for them. `live_rows` is the mean
    share of prompt and canvas that the first refresh computed, `refresh_rows` how many rows that are,
    `hit_rate` the share of affix uses whose page was there.
    """

    system: System
    requests: int
    seconds: float
    latency_s: tuple[float, ...]
    refresh_s: tuple[float, ...]
    loaded_refresh_s: tuple[float, ...]
    refine_alone: Pace | None
    refine: Pace | None
    same: float
    answer_tokens: int
    em: float | None
    private_kv_bytes: int
    reserved_kv_bytes: int
    page_bytes: int
    live_rows: float
    refresh_rows: float
    hit_rate: float


@dataclass
class Batch:
    """Requests that were served in the same way, and the forwards of their own that this took."""

    served: list[Served] = field(default_factory=list)
    forwards: list[Forward] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def completions(self) -> list[Completion]:
        """In the order of the requests."""
        return [one.completion for one in self.served]

    def refresh_rows(self, canvas: int) -> float:
        """Rows that a first refresh computed, on average."""
        return fmean(one.live_rows * (one.reuse.prompt_tokens + canvas) for one in self.completions)


@dataclass
class Arm:
    """A system with an engine of its own, and what it served so far: `alone` one at a time, and `loaded`."""

    system: System
    engine: Engine
    meter: Meter
    reader: AnswerReader
    alone: Batch = field(default_factory=Batch)
    loaded: Batch = field(default_factory=Batch)

    def serve_alone(self, request: Request) -> None:
        """Serve one more while there is no other, so that each forward is one step of it."""
        self._serve(self.alone, [request], [0.0])

    def serve(self, requests: Sequence[Request], at_s: Sequence[float]) -> None:
        """Serve some more, each from its second on; their steps are traced."""
        self._serve(self.loaded, [replace(request, trace=True) for request in requests], at_s)

    def _serve(self, batch: Batch, requests: Sequence[Request], at_s: Sequence[float]) -> None:
        served, seconds = serve(self.engine, requests, at_s)
        batch.served += served
        batch.seconds += seconds
        batch.forwards += self.meter.take()

    def measured(self, canvas: int, answers: Sequence[str | None]) -> Measured:
        """Of everything served; `answers` are expected, in the order of the requests."""
        completions, alone = self.loaded.completions, self.alone.completions
        texts = [self.reader.read(one.token_ids) for one in completions]
        uses = [use.status for one in completions for use in one.reuse.affixes]
        steps = [step for one in completions if one.trace for step in one.trace.steps]
        return Measured(
            system=self.system,
            requests=len(completions),
            seconds=self.loaded.seconds,
            latency_s=tuple(one.latency_s for one in self.loaded.served),
            refresh_s=alone_s(self.alone.forwards, "refresh"),
            loaded_refresh_s=tuple(step.seconds for step in steps if step.kind == "refresh"),
            refine_alone=Pace.of(self.alone.forwards, "refine"),
            refine=Pace.of(self.loaded.forwards, "refine"),
            same=fmean(a.token_ids == b.token_ids for a, b in zip(alone, completions, strict=False)),
            answer_tokens=sum(one.tokens for one in texts),
            em=scored([one.text for one in texts], answers),
            private_kv_bytes=self.engine.private_kv.held_peak_bytes,
            reserved_kv_bytes=self.engine.private_kv.peak_bytes,
            page_bytes=self.engine.pages_peak_bytes,
            live_rows=fmean(one.live_rows for one in completions),
            refresh_rows=self.loaded.refresh_rows(canvas),
            hit_rate=uses.count("hit") / len(uses) if uses else 0.0,
        )


@contextmanager
def open_arm(
    model: LoadedModel, registry: Registry, system: System, load: Load, asked: Asked
) -> Iterator[Arm]:
    """The arm of `system`, warmed up, with every affix that a prompt names in the store."""
    backend: Backend = SegmentBackend() if system.policy.reuses else GatherKV
    store = registry if system.policy.reuses else None
    options = load.options(system.cache)
    if store is not None:  # with an engine of its own: the peaks of the other are those of the workload
        unscored = replace(system.policy, budget=0.0)  # pages are the same whatever becomes of them
        with Engine(model, store, policy=unscored, backend=backend) as engine:
            once = replace(options, max_tokens=1, block_length=1)
            engine.generate([Request(prompt, once) for prompt in covering(asked.prompts)])
    meter, endless = Meter(), never_stops(model)
    with Engine(
        endless,
        store,
        policy=system.policy,
        max_batch=load.batch,
        backend=backend,
        max_waiting=load.requests,
        on_forward=meter,
    ) as engine:
        short = replace(options, max_tokens=min(load.block, load.canvas))
        engine.generate([Request(asked.prompts[0], short)])
        meter.take()  # what was warmed up is not measured
        yield Arm(system, engine, meter, AnswerReader(model.tokenizer, model.stop_ids, ()))


def covering(prompts: Sequence[Prompt]) -> Iterator[Prompt]:
    """Those that name an affix which none before does. A page may depend on the prompt around it."""
    named: set[Affix] = set()
    for prompt in prompts:
        if new := set(prompt.affixes) - named:
            named |= new
            yield prompt


def scored(texts: Sequence[str], answers: Sequence[str | None]) -> float | None:
    """The share of `texts` that are the expected ones; None where no answer is known."""
    known = [(text, answer) for text, answer in zip(texts, answers, strict=True) if answer is not None]
    return fmean(exact_match(text, answer) for text, answer in known) if known else None
