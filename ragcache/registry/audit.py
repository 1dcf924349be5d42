"""Can one namespace tell, by the time of its own lookups, what another one has cached?

The attack is that of CacheProbe and of CVE-2025-46570 (vLLM's prefix cache): ask for texts, measure, and
compare those the victim has with those it has not. The same comparison inside one namespace, where hits and
misses must differ, shows that the probe would notice.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import torch

from ragcache.errors import ConfigError
from ragcache.page import Page
from ragcache.registry.key import AffixKey
from ragcache.registry.registry import Registry

SIGNIFICANT_P = 0.001
_TEXTS = 16
_TOKENS = 32
_LEAST_TRIALS = 20
_WARM_UP = 50


@dataclass(frozen=True)
class Comparison:
    """Times of lookups of `cached` and of `absent` texts, in seconds (medians).

    `p_value` is that of Mann and Whitney's test; `share` is how often a cached text took longer than an
    absent one: 0.5 when the times say nothing.
    """

    cached_s: float
    absent_s: float
    p_value: float
    share: float

    @property
    def tells(self) -> bool:
        """Whether the times give away what is cached."""
        return self.p_value < SIGNIFICANT_P


@dataclass(frozen=True)
class AuditReport:
    """`across` is what the attacker sees of the victim's texts, `within` what the victim itself sees."""

    trials: int
    across: Comparison
    within: Comparison

    @property
    def verdict(self) -> Literal["leak", "separate", "inconclusive"]:
        """Inconclusive when not even hits and misses of one namespace can be told apart."""
        if self.across.tells:
            return "leak"
        return "separate" if self.within.tells else "inconclusive"


def audit(
    registry: Registry,
    *,
    victim: str = "audit-victim",
    attacker: str = "audit-attacker",
    trials: int = 500,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> AuditReport:
    """Plant small pages for `victim`, look them up `trials` times as `attacker`, and remove them again.

    Open the registry without a remote, whose noise would hide the rest. Raises `ConfigError` for too few
    trials or equal namespaces, and what `Registry.put` raises.
    """
    if trials < _LEAST_TRIALS:
        raise ConfigError(f"trials is {trials}; give at least {_LEAST_TRIALS}.")
    if victim == attacker:
        raise ConfigError(f"both namespaces are {victim!r}; give two different ones.")
    chance = random.Random(seed)
    cached, absent = ([_key(chance, victim) for _ in range(_TEXTS)] for _ in range(2))
    with _planted(registry, cached):
        within = _compare(registry, cached, absent, trials, chance, clock)
        theirs, none = ([replace(key, namespace=attacker) for key in keys] for keys in (cached, absent))
        across = _compare(registry, theirs, none, trials, chance, clock)
    return AuditReport(trials, across, within)


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Two-sided p-value, and the share of pairs in which `first` is the greater (ties count half).

    Mann and Whitney (1947): normal approximation, corrected for ties; good from 20 values each.
    """
    n, m = len(first), len(second)
    ranked = sorted([(value, True) for value in first] + [(value, False) for value in second])
    rank_sum, ties, start = 0.0, 0, 0
    while start < len(ranked):
        stop = start
        while stop < len(ranked) and ranked[stop][0] == ranked[start][0]:
            stop += 1
        mine = sum(of_first for _, of_first in ranked[start:stop])
        rank_sum += mine * (start + stop + 1) / 2  # the mean of the ranks start + 1 .. stop
        ties += (stop - start) ** 3 - (stop - start)
        start = stop
    u = rank_sum - n * (n + 1) / 2
    total = n + m
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    z = 0.0 if variance <= 0 else (u - n * m / 2) / math.sqrt(variance)
    return math.erfc(abs(z) / math.sqrt(2)), u / (n * m)


def _compare(
    registry: Registry,
    cached: Sequence[AffixKey],
    absent: Sequence[AffixKey],
    trials: int,
    chance: random.Random,
    clock: Callable[[], float],
) -> Comparison:
    for trial in range(_WARM_UP):
        registry.get(cached[trial % len(cached)])
        registry.get(absent[trial % len(absent)])
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(trials):
        for is_cached in chance.sample([True, False], 2):  # in turn, so that drift hits both alike
            key = chance.choice(cached if is_cached else absent)
            started = clock()
            registry.get(key)
            times[is_cached].append(clock() - started)
    p_value, share = mann_whitney(times[True], times[False])
    return Comparison(statistics.median(times[True]), statistics.median(times[False]), p_value, share)


@contextmanager
def _planted(registry: Registry, keys: Sequence[AffixKey]) -> Iterator[None]:
    try:
        for key in keys:
            tensor = torch.zeros(1, len(key.token_ids), 1)
            registry.put(key, Page(torch.tensor(key.token_ids), (tensor,), (tensor,)))
        yield
    finally:
        for key in keys:
            registry.discard(key)


def _key(chance: random.Random, namespace: str) -> AffixKey:
    ids = tuple(chance.randrange(2**31) for _ in range(_TOKENS))
    return AffixKey("audit", "audit", "float32", "audit", ids, namespace=namespace)
