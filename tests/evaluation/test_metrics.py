"""Exact match and F1."""

import pytest

from ragcache.evaluation.metrics import exact_match, f1


@pytest.mark.parametrize("answer", ["Brindle Bay", " brindle BAY.\n", "brindle bay"])
def test_case_blanks_and_a_full_stop_do_not_matter(answer: str) -> None:
    assert exact_match(answer, "Brindle Bay") == 1.0
    assert f1(answer, "Brindle Bay") == 1.0


@pytest.mark.parametrize("answer", ["the Brindle Bay", "Brindle Bay!", "Brindle Bay..", ""])
def test_all_else_matters_for_exact_match(answer: str) -> None:
    assert exact_match(answer, "Brindle Bay") == 0.0


@pytest.mark.parametrize(
    ("answer", "expected", "score"),
    [
        ("a b", "b c", 0.5),
        ("a a a", "a", 0.5),
        ("x", "a b", 0.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
        (".", " ", 1.0),
        ("in Brindle Bay", "Brindle Bay.", 0.8),
    ],
)
def test_f1_counts_shared_words(answer: str, expected: str, score: float) -> None:
    assert f1(answer, expected) == pytest.approx(score)
    assert f1(expected, answer) == pytest.approx(score)
