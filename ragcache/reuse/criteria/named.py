"""Criteria by their names in policy strings."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ragcache.errors import ConfigError
from ragcache.reuse.context import AnchorCriterion
from ragcache.reuse.criteria.attention import AttentionMass, Influence, QuestionAndAnswer, QuestionAttention
from ragcache.reuse.criteria.deviation import KeyDeviation, Oracle, ValueDrift
from ragcache.reuse.criteria.fixed import FirstK, Random

CRITERIA: Mapping[str, AnchorCriterion] = MappingProxyType(
    {
        criterion.name: criterion
        for criterion in (
            Influence(),
            Influence(joint=False),
            AttentionMass(),
            QuestionAttention(),
            QuestionAndAnswer(),
            KeyDeviation(),
            ValueDrift(),
            FirstK(),
            Random(),
            Oracle(),
        )
    }
)


# the one that brings back most of what direct reuse loses (docs/results.md, "Which criterion")
DEFAULT: AnchorCriterion = QuestionAndAnswer()


def criterion_named(name: str) -> AnchorCriterion:
    """The criterion called `name`. Raises `ConfigError` naming the known ones."""
    if name not in CRITERIA:
        raise ConfigError(f"unknown criterion {name!r}; known: {', '.join(CRITERIA)}")
    return CRITERIA[name]
