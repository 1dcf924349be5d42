"""What runs in the process of a replica: an engine, asked over one pipe and answering over another."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any, BinaryIO

from ragcache.engine.costs import RowCost
from ragcache.engine.engine import Engine
from ragcache.engine.parallel.messages import START, Ask, Cancel, Failed, Result, Text
from ragcache.engine.parallel.spec import Outline, Warmed, WarmedPage
from ragcache.engine.parallel.wire import dump, load
from ragcache.engine.parallel.wire_errors import error_to_plain

CALLS = ("preview", "resolve_policy", "tokenize")  # what may be asked of an engine beside submit and warm
CALL_THREADS = 4
EXIT_ORPHANED = 1


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer lines of `source` until it ends, then finish what is running; what is said goes to `sink`."""
    say = Mouth(sink)
    spec = load(source.readline())
    with ExitStack() as stack:
        try:
            engine = spec.open(stack)
        except Exception as error:
            say(Failed(START, error_to_plain(error), RowCost()))
            return
        threads = stack.enter_context(ThreadPoolExecutor(CALL_THREADS, thread_name_prefix="ragcache-call"))
        stack.callback(engine.close)  # before the threads: what is said last is said of requests
        say(Result(START, Outline.of(engine.model), engine.row_cost))
        server = Server(engine, say, threads)
        for line in source:
            server.hear(load(line))


class Mouth:
    """Says messages, one at a time, from any thread. A process whose parent is gone ends at once."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink, self._lock = sink, threading.Lock()

    def __call__(self, message: object) -> None:
        """Raises `ConfigError` for a message that cannot be sent."""
        line = dump(message)
        try:
            with self._lock:
                self._sink.write(line)
                self._sink.flush()
        except OSError:
            os._exit(EXIT_ORPHANED)  # other threads may compute for long, for nobody


class Server:
    """Hands what it hears to the engine, and says what comes of it under the number it was asked."""

    def __init__(self, engine: Engine, say: Callable[[object], None], threads: Executor) -> None:
        self._engine, self._say, self._threads = engine, say, threads
        self._futures: dict[int, Future[Any]] = {}

    def hear(self, message: Ask | Cancel) -> None:
        """Begin what is asked, or cancel it; never waits for it."""
        if isinstance(message, Cancel):
            future = self._futures.get(message.number)
            if future is not None:
                future.cancel()
            return
        try:
            future = self._begin(message)
        except Exception as error:
            self._say(Failed(message.number, error_to_plain(error), self._engine.row_cost))
            return
        self._futures[message.number] = future
        future.add_done_callback(partial(self._tell, message.number))

    def _begin(self, ask: Ask) -> Future[Any]:
        if ask.call == "submit":
            (request,) = ask.args
            return self._engine.submit(request, lambda text: self._say(Text(ask.number, text)))
        if ask.call == "warm":
            return self._threads.submit(self._warm, *ask.args)
        if ask.call not in CALLS:
            raise ValueError(f"a replica does no {ask.call!r}")
        return self._threads.submit(getattr(self._engine, ask.call), *ask.args, **ask.options)

    def _warm(self, texts: tuple[str, ...], names: tuple[str, ...]) -> Warmed:
        """The pages stay here, and in the store."""
        found = self._engine.warm(texts, names).pages
        return Warmed({ids: WarmedPage(own.status, own.reason) for ids, own in found.items()})

    def _tell(self, number: int, future: Future[Any]) -> None:
        self._futures.pop(number, None)
        cost = self._engine.row_cost
        try:
            self._say(Result(number, future.result(), cost))
        except Exception as error:  # also of a result that cannot be sent: somebody waits for a word
            self._say(Failed(number, error_to_plain(error), cost))
