"""Something that one replica or another has to do, and who is told what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from ragcache.engine.job import Job
from ragcache.engine.parallel.messages import Ask
from ragcache.engine.parallel.router import Footprint

SOON_S = 1e-3


@dataclass(eq=False)
class Errand:
    """`ask` makes the message for a number. `hear` is told texts, at last `finish` or `fail` what it came to.

    `dropped` is whether nobody waits any more. `tries` counts the replicas that were sent it.
    """

    ask: Callable[[int], Ask]
    footprint: Footprint
    finish: Callable[[Any], None]
    fail: Callable[[BaseException], None]
    hear: Callable[[str], None] = lambda text: None
    dropped: Callable[[], bool] = lambda: False
    tries: int = 0


def request_errand(job: Job, footprint: Footprint) -> Errand:
    """To answer a request. Its time counts from its submission, not from when a replica gets it."""

    def ask(number: int) -> Ask:
        request = job.request
        if request.timeout_s is not None:
            left_s = job.submitted + request.timeout_s - time.monotonic()
            request = replace(request, timeout_s=max(left_s, SOON_S))
        return Ask(number, "submit", (request,))

    def fail(error: BaseException) -> None:
        if not job.drop_if_late():  # which says how much time there was in all
            job.fail(error)

    def dropped() -> bool:
        return job.settled or job.future.cancelled()

    def hear(text: str) -> None:
        if dropped():
            return
        try:
            job.on_text(text)
        except BaseException as error:  # the caller's own mistake: other requests go on
            job.fail(error)

    return Errand(ask, footprint, job.resolve, fail, hear, dropped)


def call_errand(
    call: str, args: tuple[Any, ...], options: Mapping[str, Any], footprint: Footprint
) -> tuple[Errand, Future[Any]]:
    """To call a method of a replica's engine; the future has what it returns."""
    future: Future[Any] = Future()
    errand = Errand(
        lambda number: Ask(number, call, args, options), footprint, future.set_result, future.set_exception
    )
    return errand, future
