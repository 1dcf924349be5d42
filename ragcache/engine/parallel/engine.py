"""The engine over replicas: the model in several processes, one device each, with the face of one engine."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from ragcache.engine.base import BaseEngine
from ragcache.engine.job import Job
from ragcache.engine.known_texts import KnownTexts
from ragcache.engine.parallel.errand import Errand, call_errand, request_errand
from ragcache.engine.parallel.footprint import Footprints
from ragcache.engine.parallel.pool import ReplicaPool
from ragcache.engine.parallel.router import NOTHING, Footprint
from ragcache.engine.parallel.spec import EngineOptions, ReplicaSpec, Warmed, WarmedPage
from ragcache.engine.preview import Preview
from ragcache.engine.request import Completion, Request
from ragcache.engine.waiting import WaitingQueue
from ragcache.errors import ConfigError, EngineClosedError
from ragcache.model.catalog import find_checkpoint
from ragcache.model.config import ModelConfig
from ragcache.model.config_file import read_config
from ragcache.prompt import ChatTokenizer, Prompt, TokenizedPrompt
from ragcache.registry import Registry, codec_for
from ragcache.registry.names import check_name
from ragcache.reuse.policy import ReusePolicy

BATCHES_SENT = 2  # one that runs, and one whose pages are fetched meanwhile; the rest can still go anywhere
LOOK_S = 0.1  # how often, while no replica has room, it is looked whose time is over


@dataclass(frozen=True)
class ReplicatedModel:
    """What the engine's own process knows of the model: everything but the weights."""

    name: str
    fingerprint: str
    dtype: str
    device: str
    tokenizer: ChatTokenizer
    config: ModelConfig


class DataParallelEngine(BaseEngine):
    """As `Engine`, with a replica of the model on each of `devices`, in a process of its own. Thread-safe.

    A device is what `load` takes, so a replica may itself be spread (`cuda:0,cuda:1`). `registry` is the
    caller's, who closes it after the engine; the replicas open the same store for themselves. `options` are
    those of `Engine`, the same for all.

    Requests wait here, in the order of `Engine`, until a replica has room; `ragcache.engine.parallel.router`
    says which. When the process of a replica ends, it is started again, and what it was sent goes to another
    replica, once: texts that were streamed may then come again from the start. What ends with two replicas
    fails with `ReplicaDiedError`. Only data goes to replicas: a criterion, rule or policy must be ragcache's.

    Raises `ConfigError` for no device, and what loading the model or opening the store in a replica raises.
    """

    def __init__(
        self,
        model: str,
        registry: Registry | None = None,
        *,
        devices: Sequence[str],
        dtype: str = "auto",
        options: EngineOptions | None = None,
    ) -> None:
        own = options or EngineOptions()
        if isinstance(devices, str) or not devices:
            raise ConfigError(f"devices is {devices!r}; give a list, such as ['cuda:0', 'cuda:1']")
        self.registry, self.policy, self.codec = registry, own.policy, codec_for(own.codec).name
        self.namespace, self.shared = check_name(own.namespace, "namespace"), tuple(own.shared)
        self.max_batch, self.min_affix_tokens = own.max_batch, own.min_affix_tokens
        self.match_registered = own.match_registered
        folder = find_checkpoint(model)  # before the replicas, which would all download it
        known = KnownTexts(registry, self.namespace)
        self._footprints = Footprints(ChatTokenizer.from_folder(folder), read_config(folder), known, own)
        store = None if registry is None else registry.settings.for_others()
        specs = [ReplicaSpec(model, device, dtype, own, store) for device in devices]
        self._waiting = WaitingQueue(own.max_waiting)
        room = BATCHES_SENT * own.max_batch
        self._pool = ReplicaPool(specs, room, lambda found: self._footprints.resident_tokens(found.dtype))
        self._dispatcher = threading.Thread(target=self._dispatch, name="ragcache-dispatcher", daemon=True)
        atexit.register(self.close)
        try:
            self.model = self._start(devices)
        except BaseException:
            self.close()
            raise

    @property
    def row_s(self) -> float:
        """See `BaseEngine`."""
        return self._pool.row_cost.row_s

    @property
    def pids(self) -> list[int]:
        """The processes of the replicas, in the order of their devices."""
        return [replica.pid for replica in self._pool.replicas if replica.pid is not None]

    def tokenize(
        self, prompt: Prompt | str, *, min_tokens: int = 0, shared: Sequence[str] = ()
    ) -> TokenizedPrompt:
        """See `Engine`."""
        options = {"min_tokens": min_tokens, "shared": tuple(shared)}
        found: TokenizedPrompt = self._ask("tokenize", (prompt,), options).result()
        return found

    def preview(self, request: Request) -> Preview:
        """See `Engine`."""
        found: Preview = self._ask("preview", (request,)).result()
        return found

    def resolve_policy(self, policy: ReusePolicy | None = None) -> ReusePolicy:
        """See `Engine`."""
        found: ReusePolicy = self._ask("resolve_policy", (policy,)).result()
        return found

    def submit(
        self, request: Request, on_text: Callable[[str], None] = lambda text: None, *, wait: bool = False
    ) -> Future[Completion]:
        """See `BaseEngine`. An error that is not ragcache's own is a RuntimeError that names it."""
        request.check_asked()
        job = Job(request, on_text)
        self._waiting.put(job, wait=wait)
        return job.future

    def warm(self, texts: Sequence[str], names: Sequence[str] = ()) -> Warmed:
        """See `Engine`; the texts are shared out among the replicas, and the pages stay where they are."""
        named = list(zip(texts, names or [""] * len(texts), strict=True))
        shares = min(len(named), max(1, len(self._pool)))
        futures = []
        for at in range(shares):
            share = tuple(zip(*named[at::shares], strict=True))  # texts, then names
            futures.append(self._ask("warm", share, footprint=self._footprints.of_texts(share[0])))
        pages: dict[tuple[int, ...], WarmedPage] = {}
        for future in futures:
            pages |= future.result().pages
        return Warmed(pages)

    def warm_names(self, names: Sequence[str]) -> Warmed:
        """`warm` for the texts of registered names. Raises as `texts_of`."""
        return self.warm(self.texts_of(names), names)

    def close(self) -> None:
        """Finish what is running, fail what still waits with `EngineClosedError`, end the processes."""
        atexit.unregister(self.close)
        for job in self._waiting.close():
            job.fail(EngineClosedError("the engine was closed before this request started"))
        self._pool.close()
        if self._dispatcher.ident is not None and self._dispatcher is not threading.current_thread():
            self._dispatcher.join()

    def _start(self, devices: Sequence[str]) -> ReplicatedModel:
        """Start the replicas, and handing on to them."""
        found, own = self._pool.start(), self._footprints
        self._dispatcher.start()
        device = "; ".join(devices)
        return ReplicatedModel(found.name, found.fingerprint, found.dtype, device, own.tokenizer, own.config)

    def _ask(
        self,
        call: str,
        args: tuple[Any, ...],
        options: dict[str, Any] | None = None,
        footprint: Footprint = NOTHING,
    ) -> Future[Any]:
        """Have the engine of a replica do `call`."""
        errand, future = call_errand(call, args, options or {}, footprint)
        self._pool.send(errand)
        return future

    def _dispatch(self) -> None:
        """Hand on what waits, while replicas have room. Ends once the queue was closed."""
        while self._waiting.stay(None):
            for late in self._waiting.take_late():
                late.drop_if_late()
            if not self._pool.wait_for_room(LOOK_S):
                continue
            job = self._waiting.head()  # another may be more urgent by now
            if job is None or not self._waiting.remove(job):
                continue
            try:
                errand = request_errand(job, self._footprints.of(job.request))
            except Exception as error:
                job.fail(error)
            else:
                self._hand_on(job, errand)

    def _hand_on(self, job: Job, errand: Errand) -> None:
        def cancel(future: Future[Completion]) -> None:
            if future.cancelled():
                self._pool.cancel(errand)

        self._pool.send(errand)
        job.future.add_done_callback(cancel)
