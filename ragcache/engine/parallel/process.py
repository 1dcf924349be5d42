"""The parent's side of a replica's process: starting it, talking to it, ending it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ragcache.engine.parallel.spec import ReplicaSpec
from ragcache.engine.parallel.wire import dump, load

log = logging.getLogger(__name__)
# Not multiprocessing: it pickles, and what it spawns imports the caller's main module again, so that a script
# without a guard would start replicas within replicas. -P: no module of the current folder shadows another.
COMMAND = (sys.executable, "-P", "-m", "ragcache.engine.parallel")


class ReplicaProcess:
    """A process that serves `spec`. It ends when its input does, so also when this process is killed.

    Raises OSError when it cannot be started.
    """

    def __init__(self, spec: ReplicaSpec) -> None:
        where = os.pathsep.join(path or os.getcwd() for path in sys.path)  # the same ragcache as here
        self._process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": where}
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._lock = threading.Lock()
        self.send(spec)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def send(self, message: object) -> None:
        """Say `message`; nothing when the process is gone, which `messages` tells by ending.

        Raises `ConfigError` for one that cannot be sent.
        """
        line = dump(message)
        with self._lock, suppress(OSError, ValueError):  # ValueError: it was told to finish
            self._input.write(line)
            self._input.flush()

    def messages(self) -> Iterator[Any]:
        """What the process says, until it ends, however it does."""
        try:
            for line in self._output:
                if line.endswith(b"\n"):  # it may be killed in the middle of one
                    yield load(line)
        except ValueError as error:
            log.error("replica %d says what cannot be understood, and is ended: %s", self.pid, error)
            self.kill()

    def finish(self) -> None:
        """Let it finish what is running, and end."""
        with self._lock, suppress(OSError):
            self._input.close()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def wait(self) -> int:
        """Its exit code, once it has one; below 0 it is a signal's."""
        self.finish()
        code = self._process.wait()
        self._output.close()
        return code
