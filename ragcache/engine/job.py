"""A request in the engine's hands."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from torch import Tensor

from ragcache.decoding.step import Step, Work, advance
from ragcache.engine.request import Completion, Request
from ragcache.engine.scheduler import Due
from ragcache.errors import RequestTimeoutError
from ragcache.prompt import SpanIndex, TokenizedPrompt
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.policy import ReusePolicy

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ready:
    """What is known of a request before its pages are; `registered` was searched for in the prompt."""

    prompt: TokenizedPrompt
    policy: ReusePolicy
    table: DepthTable | None
    registered: SpanIndex
    tokenize_s: float


@dataclass(eq=False)
class Job:
    """A submitted request and where its work stands; a `Contender` of the scheduler's while it has a step.

    `granted` is what memory was granted for, whatever `ready` is by then. `held` lets go of what the request
    holds: before its caller learns how it ended. `forward_s` is its share of the last forward's seconds.
    """

    request: Request
    on_text: Callable[[str], None]
    future: Future[Completion] = field(default_factory=Future)
    work: Work[Completion] | None = None
    step: Step | None = None
    ready: Ready | None = None
    granted: Ready | None = None
    begun: bool = False
    submitted: float = field(default_factory=time.monotonic)
    due: Due = field(default=Due(0.0, 0))
    passed: int = 0
    forward_s: float = 0.0
    held: ExitStack = field(default_factory=ExitStack)
    settled: bool = False

    @property
    def rows(self) -> int:
        """Rows of the next step."""
        return len(self.step.positions) if self.step else 0

    def advance(self, logits: Tensor | None) -> None:
        """Feed logits, take the next step; resolves the future at the end or on an error."""
        assert self.work is not None
        try:
            self.step = advance(self.work, logits)
        except StopIteration as end:
            self.resolve(end.value)
        except BaseException as error:  # also what a callback raises: the worker serves the others
            self.fail(error)

    def drop_if_cancelled(self) -> bool:
        """Whether the caller cancelled; then `concurrent.futures.wait` learns of it."""
        cancelled = self.future.cancelled()
        if cancelled:
            self.settle()
        return cancelled

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        limit = self.request.timeout_s
        return limit is not None and time.monotonic() - self.submitted > limit

    def drop_if_late(self) -> bool:
        """Whether its time is over; then the caller is told."""
        late = self.is_late
        if late:
            allowed = f"{self.request.timeout_s:g} s"
            self.fail(RequestTimeoutError(f"no answer within {allowed}; allow more, or ask for fewer tokens"))
        return late

    def resolve(self, completion: Completion) -> None:
        """Answer, unless the caller cancelled meanwhile."""
        if self.settle():
            with _callbacks_that_raise():
                self.future.set_result(completion)

    def fail(self, error: BaseException) -> None:
        """Hand the error to the caller; nothing if there was an answer, or an error, already.

        What finished frames hold, KV above all, is let go: callers may keep an error for long.
        """
        traceback.clear_frames(error.__traceback__)
        if self.settle():
            with _callbacks_that_raise():
                self.future.set_exception(error)

    def settle(self) -> bool:
        """End the work; whether the caller still waits. Called by one thread at a time."""
        if self.settled:
            return False
        self.settled = True
        self.work = self.step = self.ready = self.granted = None
        self.held.close()
        return self.future.set_running_or_notify_cancel()


@contextmanager
def _callbacks_that_raise() -> Iterator[None]:
    """A future logs what its callbacks raise, but for `SystemExit` and its like: others still wait."""
    try:
        yield
    except BaseException:
        log.exception("a callback of a request's future raised")
