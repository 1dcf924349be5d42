"""One that fails is found; all others get what they would have got."""

from __future__ import annotations

from collections.abc import Sequence, Set

import pytest

from ragcache.engine.isolation import isolate


class Run:
    """Doubles numbers, all at once, unless one of them is bad or there are more than `most`."""

    def __init__(self, bad: Set[int] = frozenset(), most: int = 99) -> None:
        self.bad, self.most, self.runs = bad, most, 0

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.runs += 1
        if self.bad & {*items} or len(items) > self.most:
            raise RuntimeError(f"bad: {items}")
        return [2 * item for item in items]


@pytest.mark.parametrize("bad", [set(), {0}, {5}, {7}, {2, 3}, {0, 7}, set(range(8))])
def test_every_culprit_fails_alone_and_the_others_have_their_results(bad: set[int]) -> None:
    outcomes = isolate([*range(8)], Run(bad))
    assert [isinstance(outcome, RuntimeError) for outcome in outcomes] == [n in bad for n in range(8)]
    assert [outcomes[n] for n in range(8) if n not in bad] == [2 * n for n in range(8) if n not in bad]


def test_one_culprit_costs_a_logarithm_of_runs() -> None:
    run = Run({21})
    isolate(range(64), run)
    assert run.runs == 1 + 2 * 6


def test_a_batch_that_was_only_too_large_goes_through_in_parts() -> None:
    assert isolate(range(6), Run(most=2)) == [0, 2, 4, 6, 8, 10]


def test_nothing_is_not_run() -> None:
    run = Run()
    assert (isolate([], run), run.runs) == ([], 0)
