"""Decoding options in short form, as the command line takes them: `top_p=0.9`, `sampler=entropy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ragcache.decoding.commit import CommitRule, ConfidenceThreshold, Factor, FixedSteps
from ragcache.decoding.defaults import with_sampler
from ragcache.decoding.denoise import DecodingOptions
from ragcache.errors import ConfigError

_FIELDS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        "block_length": int,
        "confidence": str,
        "min_tokens": int,
        "temperature": float,
        "top_k": int,
        "top_p": float,
    }
)
_RULES: Mapping[str, tuple[Callable[[str], Any], Callable[[Any], CommitRule]]] = MappingProxyType(
    {
        "factor": (float, Factor),
        "steps": (int, FixedSteps),
        "threshold": (float, ConfidenceThreshold),
    }
)
NAMES = (*_FIELDS, *_RULES, "sampler")


def parse_decoding(pairs: Sequence[str], options: DecodingOptions) -> DecodingOptions:
    """`options` with what `pairs` (`NAME=VALUE`) say.

    Names are fields of `DecodingOptions`; `steps` (of a block), `threshold` or `factor` choose the commit
    rule; `sampler` is one of Dream's, which may need `steps` or a `threshold`.
    Raises `ConfigError` naming the pair that cannot be used.
    """
    given = _split(pairs)
    numbers = {name: _value(name, text) for name, text in given.items()}
    rules = {name: numbers.pop(name) for name in _RULES if name in numbers}
    sampler = numbers.pop("sampler", None)
    options = replace(options, **numbers)
    if sampler is not None:
        wanted = "threshold" if sampler == "confidence_threshold" else "steps"
        if unused := [name for name in ("confidence", *_RULES) if name in given and name != wanted]:
            raise ConfigError(f"sampler={sampler} takes {wanted}, but not {', '.join(unused)}; leave it out")
        return with_sampler(options, sampler, **rules)
    if len(rules) > 1:
        raise ConfigError(f"{' and '.join(rules)} exclude each other; give one")
    for name, value in rules.items():
        options = replace(options, rule=_RULES[name][1](value))
    return options


def _split(pairs: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for pair in pairs:
        name, separator, text = (part.strip() for part in pair.partition("="))
        if not separator or not text:
            raise ConfigError(f"decoding option {pair!r}: write NAME=VALUE, such as top_p=0.9")
        if name not in NAMES:
            raise ConfigError(f"unknown decoding option {name!r}; known: {', '.join(NAMES)}")
        if name in given:
            raise ConfigError(f"decoding option {name!r} is given twice; give it once")
        given[name] = text
    return given


def _value(name: str, text: str) -> Any:
    read = _FIELDS[name] if name in _FIELDS else _RULES[name][0] if name in _RULES else str
    try:
        return read(text)
    except ValueError:
        kind = "a whole number" if read is int else "a number"
        raise ConfigError(f"decoding option {name}={text}: give {kind}") from None
