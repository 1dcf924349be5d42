"""Anchor criteria: which affix tokens a request recomputes. One small class each."""

from ragcache.reuse.criteria.attention import AttentionMass, Influence, QuestionAndAnswer, QuestionAttention
from ragcache.reuse.criteria.deviation import KeyDeviation, Oracle, ValueDrift
from ragcache.reuse.criteria.fixed import FirstK, Random
from ragcache.reuse.criteria.named import CRITERIA, DEFAULT, criterion_named

__all__ = [
    "CRITERIA",
    "DEFAULT",
    "AttentionMass",
    "FirstK",
    "Influence",
    "KeyDeviation",
    "Oracle",
    "QuestionAndAnswer",
    "QuestionAttention",
    "Random",
    "ValueDrift",
    "criterion_named",
]
