"""The replicas together: what is sent to whom, and what becomes of it when a process dies."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ragcache.engine.costs import RowCost
from ragcache.engine.parallel.errand import Errand
from ragcache.engine.parallel.ledger import Ledger
from ragcache.engine.parallel.messages import Cancel, Failed, Text
from ragcache.engine.parallel.process import ReplicaProcess
from ragcache.engine.parallel.replica import Replica
from ragcache.engine.parallel.spec import Outline, ReplicaSpec
from ragcache.engine.parallel.wire_errors import error_from_plain
from ragcache.errors import CheckpointError, ConfigError, EngineClosedError, ReplicaDiedError

log = logging.getLogger(__name__)
MOST_TRIES = 2  # what is under way when two replicas die may well be the reason


class ReplicaPool:
    """Sends errands to replicas, and sends them again, once, when a replica's process ends. Thread-safe.

    A replica has room while it has fewer than `room` errands. `resident_tokens` says how many affix tokens
    the memory of such a replica holds.
    """

    def __init__(
        self, specs: Sequence[ReplicaSpec], room: int, resident_tokens: Callable[[Outline], int]
    ) -> None:
        self.replicas = tuple(Replica(number, spec, self) for number, spec in enumerate(specs))
        self._resident_tokens = resident_tokens
        self._changed = threading.Condition()  # guards everything below
        self._ledger = Ledger(room)
        self._outline: Outline | None = None
        self._starting = {replica.number for replica in self.replicas}
        self._homeless: list[Errand] = []  # until a replica serves
        self._lost: list[Exception] = []
        self._started = self._closed = False

    def __len__(self) -> int:
        """Replicas that serve now."""
        return len(self._ledger)

    @property
    def row_cost(self) -> RowCost:
        """What forwards took, of all replicas together."""
        with self._changed:
            return self._ledger.row_cost

    def start(self) -> Outline:
        """Start all replicas and wait for them. Raises the error of one that cannot begin to serve."""
        for replica in self.replicas:
            replica.start()
        with self._changed:
            self._changed.wait_for(lambda: self._lost or not self._starting)
            if self._lost or self._outline is None:
                raise self._lost[0]
            self._started = True
            return self._outline

    def wait_for_room(self, wait_s: float) -> bool:
        """Until a replica has room, or there will never be one; False if neither is so in `wait_s`."""
        with self._changed:
            return self._changed.wait_for(lambda: self._ledger.has_room or not self._hopeful(), wait_s)

    def send(self, errand: Errand) -> None:
        """Have it done by the cheapest replica; fails it where none is left."""
        with self._changed:
            hopeful, placed = self._hopeful(), None
            if hopeful and len(self._ledger):
                placed = self._ledger.place(errand)
            elif hopeful:
                self._homeless.append(errand)
        if not hopeful:
            errand.fail(self._gone())
        if placed is None:
            return
        try:
            placed.process.send(errand.ask(placed.number))
        except Exception as error:  # it cannot be said over a pipe
            with self._changed:
                self._ledger.settle(placed.number)
                self._changed.notify_all()
            errand.fail(error)
        if errand.dropped():  # perhaps before there was anything to cancel
            placed.process.send(Cancel(placed.number))

    def cancel(self, errand: Errand) -> None:
        """Tell whoever has it that nobody waits any more."""
        with self._changed:
            found = self._ledger.of(errand)
        for placed in found:
            placed.process.send(Cancel(placed.number))

    def close(self) -> None:
        """Let all replicas finish what they run, and wait until their processes are gone."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for replica in self.replicas:
            replica.stop()
        self._send_homeless()
        for replica in self.replicas:  # a callback may close, and cannot wait for itself
            if replica is not threading.current_thread() and replica.ident is not None:
                replica.join()

    def ready(self, replica: Replica, process: ReplicaProcess, outline: Outline) -> None:
        """See `Listener`. Raises `CheckpointError` or `ConfigError` for one that would answer differently."""
        with self._changed:
            self._outline = self._outline or outline
            _check_alike(self._outline, outline)
            self._ledger.enter(replica.number, process, self._resident_tokens(outline))
            self._starting.discard(replica.number)
            self._changed.notify_all()
        self._send_homeless()

    def heard(self, replica: Replica, message: Any) -> None:
        """See `Listener`. What was sent to another meanwhile is not listened to."""
        with self._changed:
            if isinstance(message, Text):
                errand = self._ledger.placed(message.number)
            else:
                errand = self._ledger.settle(message.number, message)
                self._changed.notify_all()
        if errand is None:
            return
        if isinstance(message, Failed):
            errand.fail(error_from_plain(message.error))
        elif isinstance(message, Text):
            errand.hear(message.text)
            if errand.dropped():  # who hears may fail
                self.cancel(errand)
        else:
            errand.finish(message.value)

    def died(self, replica: Replica, error: ReplicaDiedError) -> None:
        """See `Listener`."""
        with self._changed:
            if not self._closed:
                log.warning("%s", error)
                self._starting.add(replica.number)
        self._leave(replica, error)

    def lost(self, replica: Replica, error: Exception) -> None:
        """See `Listener`."""
        with self._changed:
            self._lost.append(error)
            self._starting.discard(replica.number)
        if self._started and not self._closed:  # before, it is raised
            log.error("no replica on %s: %s", replica.spec.device, error)
        self._leave(replica, error)

    def _leave(self, replica: Replica, error: Exception) -> None:
        """It serves no more, or not for now: what it had goes to others, or fails."""
        with self._changed:
            errands = self._ledger.leave(replica.number)
            tried = [] if self._closed else [errand for errand in errands if errand.tries >= MOST_TRIES]
            self._homeless += [errand for errand in errands if errand not in tried]
            self._changed.notify_all()
        for errand in tried:
            errand.fail(ReplicaDiedError(f"{error}, as did another one that was asked the same"))
        self._send_homeless()

    def _send_homeless(self) -> None:
        with self._changed:
            errands, self._homeless = self._homeless, []
        for errand in errands:
            self.send(errand)

    def _hopeful(self) -> bool:
        return not self._closed and bool(len(self._ledger) or self._starting)

    def _gone(self) -> Exception:
        if self._closed:
            return EngineClosedError("the engine was closed before this was done")
        return ReplicaDiedError(f"no replica is left: {self._lost[-1]}; make another engine")


def _check_alike(first: Outline, outline: Outline) -> None:
    """Raise where answers would depend on which replica gives them."""
    if outline.fingerprint != first.fingerprint:
        raise CheckpointError(f"{outline.name}: its weights were changed; make another engine")
    if outline.dtype != first.dtype:
        raise ConfigError(
            f"{outline.device} would compute in {outline.dtype}, {first.device} in {first.dtype}, and "
            "answers depend on it; give a dtype"
        )
