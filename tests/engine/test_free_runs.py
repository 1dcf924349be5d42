"""Free runs of places, against a plain list of what is taken."""

from __future__ import annotations

import random

import pytest

from ragcache.engine.free_runs import FreeRuns


def gaps(taken: list[bool]) -> list[int]:
    """Lengths of the free runs."""
    text = "".join("x" if one else "." for one in taken)
    return [len(run) for run in text.split("x") if run]


@pytest.mark.parametrize("seed", range(3))
def test_runs_are_found_where_there_are_some_and_join_again(seed: int) -> None:
    draw, size = random.Random(seed), 40
    runs, taken, given = FreeRuns(size), [False] * size, []
    for _ in range(400):
        count = draw.randint(1, 12)
        if given and draw.random() < 0.5:
            start, stop = given.pop(draw.randrange(len(given)))
            cut = draw.randint(start, stop)  # its end first, then the rest
            for part in ((cut, stop), (start, cut)):
                runs.give(*part)
            taken[start:stop] = [False] * (stop - start)
        else:
            fitting = [length for length in gaps(taken) if length >= count]
            before = sorted(gaps(taken))
            start_or_none = runs.take(count)
            assert (start_or_none is None) == (not fitting)
            if start_or_none is not None:
                start, stop = start_or_none, start_or_none + count
                assert not any(taken[start:stop])
                taken[start:stop] = [True] * count
                given.append((start, stop))
                before.remove(min(fitting))  # the shortest that holds it
                rest = [min(fitting) - count] if min(fitting) > count else []
                assert sorted(gaps(taken)) == sorted(before + rest)
        assert runs.free == taken.count(False)
        assert runs.all_free == (not any(taken))


def test_no_places_hold_nothing() -> None:
    runs = FreeRuns(0)
    assert runs.all_free
    assert runs.take(1) is None
