"""What is compared: reuse policies with an intra-request cache, by names that say both."""

from __future__ import annotations

from dataclasses import dataclass

from ragcache.decoding.caches import parse_cache
from ragcache.errors import ConfigError
from ragcache.reuse.policy import FORMS, Full, ReusePolicy, parse_policy

BASELINE = "dual"
_CACHE = "dual"


@dataclass(frozen=True)
class System:
    """A policy, and the intra-request cache `cache` in its short form."""

    name: str
    policy: ReusePolicy
    cache: str = _CACHE


def parse_system(text: str, layers: int) -> System:
    """`none` (every row at every step), `dual` (Fast-dLLM's cache, no reuse), or `POLICY` or `POLICY/CACHE`.

    In a policy `depth=half` means half of the model's `layers`. Raises `ConfigError` naming what is known.
    """
    if text in ("none", BASELINE):
        return System(text, Full, text)
    policy, slash, cache = text.partition("/")
    try:
        parsed = parse_policy(policy.replace("depth=half", f"depth={layers // 2}"))
        parse_cache(cache if slash else _CACHE)
    except ConfigError as error:
        raise ConfigError(
            f"unknown system {text!r} ({error}); known: none, dual, or POLICY[/CACHE], policies: {FORMS}"
        ) from error
    return System(text, parsed, cache if slash else _CACHE)


def parse_systems(text: str, layers: int) -> tuple[System, ...]:
    """Systems separated by commas, each once; the baseline `dual` is always there, and first."""
    names = dict.fromkeys([BASELINE, *(part.strip() for part in text.split(","))])
    return tuple(parse_system(name, layers) for name in names)
