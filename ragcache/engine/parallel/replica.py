"""The thread that keeps one replica alive: starting its process, hearing it, starting another."""

from __future__ import annotations

import logging
import threading
from typing import Any, Protocol

from ragcache.engine.parallel.messages import START, Failed, Result
from ragcache.engine.parallel.process import ReplicaProcess
from ragcache.engine.parallel.spec import Outline, ReplicaSpec
from ragcache.engine.parallel.wire_errors import error_from_plain
from ragcache.errors import ReplicaDiedError

log = logging.getLogger(__name__)


class Listener(Protocol):
    """Who is told what becomes of replicas, each by its own thread."""

    def ready(self, replica: Replica, process: ReplicaProcess, outline: Outline) -> None:
        """It serves from now on. What this raises makes it `lost`."""
        ...

    def heard(self, replica: Replica, message: Any) -> None:
        """It said something about what it was asked."""
        ...

    def died(self, replica: Replica, error: ReplicaDiedError) -> None:
        """Its process ended while it served; another is started unless it was stopped."""
        ...

    def lost(self, replica: Replica, error: Exception) -> None:
        """It could not begin to serve, and is not tried again."""
        ...


class Replica(threading.Thread):
    """One replica, in one process after another, until it is stopped or one cannot begin to serve."""

    def __init__(self, number: int, spec: ReplicaSpec, listener: Listener) -> None:
        super().__init__(name=f"ragcache-replica-{number}", daemon=True)
        self.number, self.spec = number, spec
        self._listener = listener
        self._lock = threading.Lock()
        self._process: ReplicaProcess | None = None
        self._serves = self._stopped = False

    @property
    def pid(self) -> int | None:
        """Of its process now; None before the first."""
        return None if self._process is None else self._process.pid

    def run(self) -> None:
        """See `threading.Thread`."""
        try:
            while self._serve():
                log.warning("the replica on %s is started again", self.spec.device)
        except Exception as error:  # a process that cannot be started, or another model in its place
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            self._listener.lost(self, error)

    def stop(self) -> None:
        """Finish what is running and end; a process that is still loading ends at once."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                if self._serves:
                    self._process.finish()
                else:
                    self._process.kill()

    def _serve(self) -> bool:
        """One process from its start to its end; whether there is to be another."""
        with self._lock:
            if self._stopped:
                return False
            process = self._process = ReplicaProcess(self.spec)
        for message in process.messages():
            if message.number != START:
                self._listener.heard(self, message)
            elif isinstance(message, Result):
                self._begin(process, message.value)
            elif isinstance(message, Failed):
                raise error_from_plain(message.error)
        code = process.wait()
        with self._lock:
            served, self._serves = self._serves, False
        error = ReplicaDiedError(f"the process of the replica on {self.spec.device} ended with code {code}")
        if not served:
            raise error
        self._listener.died(self, error)
        return not self._stopped

    def _begin(self, process: ReplicaProcess, outline: Outline) -> None:
        with self._lock:
            self._serves = True
            if self._stopped:  # while it was loading
                process.finish()
        self._listener.ready(self, process, outline)
