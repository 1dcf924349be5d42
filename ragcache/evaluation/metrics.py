"""Scores of an answer against the expected one, after the SQuAD measures but with less normalisation.

Both texts are stripped, case-folded and lose one final full stop. Unlike SQuAD's script, articles and other
punctuation count: the answers here are short strings taken from the documents.
"""

from __future__ import annotations

from collections import Counter


def exact_match(answer: str, expected: str) -> float:
    """1.0 if the normalised texts are equal, else 0.0."""
    return float(_normal(answer) == _normal(expected))


def f1(answer: str, expected: str) -> float:
    """Harmonic mean of precision and recall over white-space tokens; 1.0 when both texts are empty."""
    given, wanted = _normal(answer).split(), _normal(expected).split()
    if not given or not wanted:
        return float(given == wanted)
    shared = (Counter(given) & Counter(wanted)).total()
    return 2 * shared / (len(given) + len(wanted))


def _normal(text: str) -> str:
    return text.strip().casefold().removesuffix(".").rstrip()
