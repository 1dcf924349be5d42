"""A request in the engine's hands."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from torch import Tensor

from ragcache.decoding.step import Step, Work, advance
from ragcache.engine.request import Completion, Request
from ragcache.errors import RequestTimeoutError


@dataclass
class Job:
    """A submitted request and where its work stands."""

    request: Request
    on_text: Callable[[str], None]
    future: Future[Completion] = field(default_factory=Future)
    work: Work[Completion] | None = None
    step: Step | None = None
    begun: bool = False
    submitted: float = field(default_factory=time.monotonic)

    def advance(self, logits: Tensor | None) -> None:
        """Feed logits, take the next step; resolves the future at the end or on an error."""
        assert self.work is not None
        try:
            self.step = advance(self.work, logits)
        except StopIteration as end:
            self.step = None
            self.resolve(end.value)
        except BaseException as error:  # also what a callback raises: the worker serves the others
            self.fail(error)

    def drop_if_cancelled(self) -> bool:
        """Whether the caller cancelled; then `concurrent.futures.wait` learns of it. True only once."""
        return self.future.cancelled() and not self.future.set_running_or_notify_cancel()

    def drop_if_late(self) -> bool:
        """Whether its time is over; then the caller is told."""
        limit = self.request.timeout_s
        late = limit is not None and time.monotonic() - self.submitted > limit
        if late:
            self.fail(
                RequestTimeoutError(f"no answer within {limit:g} s; allow more, or ask for fewer tokens")
            )
        return late

    def resolve(self, completion: Completion) -> None:
        """Answer, unless the caller cancelled meanwhile."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(completion)

    def fail(self, error: BaseException) -> None:
        """Hand the error to the caller."""
        self.step = None
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)
