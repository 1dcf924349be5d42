"""Whether serving a request takes longer the more affixes are stored."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from ragcache.benching.arm import Arm, Batch, open_arm
from ragcache.benching.load import Load
from ragcache.benching.measure import scratch_registry
from ragcache.benching.systems import System
from ragcache.decoding.encode import encode_affixes
from ragcache.engine import LoadedModel, Request
from ragcache.registry import Registry
from ragcache.threads import in_own_thread

FEW, MANY = 10, 10_000
REPEATS = 5


@dataclass(frozen=True)
class Overhead:
    """Wall seconds of a request outside its forwards, with `affixes` stored beside its own (median)."""

    affixes: int
    request_s: float


def growth(overheads: Sequence[Overhead]) -> float:
    """Seconds with the most affixes / with the fewest, in the order of `overheads`."""
    return overheads[-1].request_s / overheads[0].request_s


def fill(registry: Registry, model: LoadedModel, first: int, stop: int) -> None:
    """Store pages of one token each, of the token ids `first` to `stop`; what they hold is alike."""
    [page] = in_own_thread(lambda: encode_affixes(model.predictor, [(0,)]))
    for token in range(first, stop):
        registry.put(model.key((token,)), replace(page, token_ids=torch.tensor([token])))


def overheads(
    model: LoadedModel, system: System, load: Load, counts: Sequence[int] = (FEW, MANY)
) -> list[Overhead]:
    """What is spent outside forwards on one request at a time, for each of the `counts`, which rise."""
    alone = replace(load, requests=1, batch=1, rate=None)
    asked, found = alone.ask(model), []
    with scratch_registry() as registry:
        for before, count in zip((0, *counts), counts, strict=False):
            fill(registry, model, before, count)
            with open_arm(model, registry, system, alone, asked) as arm:
                request = Request(asked.prompts[0], alone.options(system.cache))
                times = [_outside_s(arm, request) for _ in range(REPEATS)]
                found.append(Overhead(count, statistics.median(times)))
    return found


def _outside_s(arm: Arm, request: Request) -> float:
    """Seconds of one more request but for its forwards."""
    own = replace(arm, alone=Batch())
    own.serve_alone(request)
    return own.alone.seconds - sum(forward.seconds for forward in own.alone.forwards)
