"""Sending requests to an engine, all at once or as they arrive, and looking on at its forwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from queue import SimpleQueue
from random import Random

from ragcache.decoding.step import Step, StepKind
from ragcache.engine import Completion, Engine, Request
from ragcache.errors import ConfigError


@dataclass(frozen=True)
class Forward:
    """A forward: of what kind its steps were, one each of several requests, and its wall seconds."""

    kinds: tuple[StepKind, ...]
    seconds: float


class Meter:
    """Forwards, for `Engine(on_forward=...)`.

    Seconds are those of whole forwards: what a step costs within one that it shares with others cannot be
    told apart.
    """

    def __init__(self) -> None:
        self._forwards: list[Forward] = []

    def take(self) -> list[Forward]:
        """The forwards since the last call."""
        taken, self._forwards = self._forwards, []
        return taken

    def __call__(self, steps: Sequence[Step], seconds: float) -> None:
        """A forward over `steps` took `seconds`."""
        self._forwards.append(Forward(tuple(step.kind for step in steps), seconds))


def alone_s(forwards: Iterable[Forward], kind: StepKind) -> tuple[float, ...]:
    """Seconds of each forward that was one step of `kind` and nothing else."""
    return tuple(forward.seconds for forward in forwards if forward.kinds == (kind,))


@dataclass(frozen=True)
class Pace:
    """Steps of one kind in forwards without any other: how many a second, and in a forward on average."""

    per_s: float
    together: float

    @classmethod
    def of(cls, forwards: Iterable[Forward], kind: StepKind) -> Pace | None:
        """None where there was no such forward."""
        own = [forward for forward in forwards if {*forward.kinds} == {kind}]
        steps, seconds = sum(len(forward.kinds) for forward in own), sum(forward.seconds for forward in own)
        return cls(steps / seconds, steps / len(own)) if own else None


@dataclass(frozen=True)
class Served:
    """An answer, and the seconds from the request's arrival to it."""

    completion: Completion
    latency_s: float


def arrivals(count: int, rate: float | None, seed: int = 0) -> list[float]:
    """Seconds at which `count` requests arrive: all at 0, or `rate` a second on average (Poisson).

    Raises `ConfigError` for a rate that is not above 0.
    """
    if rate is None:
        return [0.0] * count
    if not 0.0 < rate < float("inf"):
        raise ConfigError(f"a rate of {rate:g} requests a second; give one above 0")
    rng = Random(f"arrivals/{seed}")
    return list(accumulate(rng.expovariate(rate) for _ in range(count)))


def serve(
    engine: Engine,
    requests: Sequence[Request],
    at_s: Sequence[float],
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[list[Served], float]:
    """Answers in the order of `requests`, each submitted at its second, and the wall seconds of all.

    A latency counts from the second of arrival, even where submitting was late. Raises the first error.
    """
    started = time.perf_counter()
    ended: SimpleQueue[tuple[int, float]] = SimpleQueue()
    futures: list[Future[Completion]] = []

    def note(number: int, future: Future[Completion]) -> None:
        ended.put((number, time.perf_counter()))

    try:
        for number, (request, due_s) in enumerate(zip(requests, at_s, strict=True)):
            sleep(max(0.0, started + due_s - time.perf_counter()))
            futures.append(engine.submit(request))
            futures[-1].add_done_callback(partial(note, number))
        at = dict(ended.get() for _ in futures)
        served = [
            Served(future.result(), at[number] - started - at_s[number])
            for number, future in enumerate(futures)
        ]
    finally:
        for future in futures:
            future.cancel()
    return served, max(at.values(), default=started) - started
