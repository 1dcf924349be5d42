"""Sending requests to an engine, all at once or as they arrive, and looking on at its forwards."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from queue import SimpleQueue
from random import Random

from ragcache.decoding.step import Step
from ragcache.engine import Completion, Engine, Request
from ragcache.engine.costs import shares_s
from ragcache.errors import ConfigError


class Meter:
    """Seconds of forwards, for `Engine(on_forward=...)`.

    When several requests share a forward, each of its steps is given its share of the seconds (`shares_s`).
    So `refresh_s`, one number for every refresh, says what refreshes cost, and neither waiting nor others'
    rows are in it.
    """

    def __init__(self, layers: int) -> None:
        self.layers = layers
        self.clear()

    def clear(self) -> None:
        """Forget what was seen so far."""
        self.refresh_s: list[float] = []
        self.kind_s: defaultdict[str, float] = defaultdict(float)

    @property
    def forward_s(self) -> float:
        """Seconds of all forwards."""
        return sum(self.kind_s.values())

    def __call__(self, steps: Sequence[Step], seconds: float) -> None:
        """A forward over `steps` took `seconds`."""
        for step, share_s in zip(steps, shares_s(steps, seconds, self.layers), strict=True):
            self.kind_s[step.kind] += share_s
            if step.kind == "refresh":
                self.refresh_s.append(share_s)


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
