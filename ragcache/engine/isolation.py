"""Finding who makes a joint piece of work fail, so that the others get their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def isolate(items: Sequence[T], run: Callable[[Sequence[T]], Sequence[R]]) -> list[R | Exception]:
    """What `run` makes of each of `items`, in order, or the error that one raises alone.

    All are run together. When that fails, halves are (bisection): one culprit among n costs about 2 log2 n
    runs instead of n. A batch that was only too large goes through in parts. `run` must bear being repeated.
    """
    if not items:
        return []
    try:
        return list(run(items))
    except Exception as error:
        if len(items) == 1:
            return [error]
    middle = len(items) // 2
    return isolate(items[:middle], run) + isolate(items[middle:], run)
