"""The engine: one model, one registry, one worker thread; requests join and leave between steps."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import replace

from ragcache.decoding.encode import Scaffold
from ragcache.engine.base import BaseEngine, check_asked
from ragcache.engine.costs import RowCost
from ragcache.engine.exact_session import ExactSession, exact_need, exact_policy, only_in_front
from ragcache.engine.job import Job, Ready
from ragcache.engine.kv_budget import Grant, KVBudget
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.pages import Need, PageSource, Resolved
from ragcache.engine.prefetch import Prefetcher
from ragcache.engine.preview import Preview, sections_of
from ragcache.engine.profiles import ModelProfile, Profiles
from ragcache.engine.request import Completion, Request
from ragcache.engine.residency import Residency
from ragcache.engine.scaffold import scaffold_for, system_text
from ragcache.engine.scheduler import Scheduler
from ragcache.engine.session import Session, check_window
from ragcache.engine.waiting import WaitingQueue
from ragcache.engine.worker import OnForward, Worker
from ragcache.errors import (
    ConfigError,
    EngineClosedError,
    PromptTooLongError,
)
from ragcache.model.attention import Backend, GatherKV
from ragcache.prompt import AffixSpan, Prompt, TokenizedPrompt, tokenize
from ragcache.registry import DEFAULT_NAMESPACE, Registry, codec_for
from ragcache.registry.names import check_name
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.policy import ReusePolicy

DEVICE_BYTES = 2 * 2**30


class Engine(BaseEngine):
    """Thread-safe. `submit` from anywhere; waiting requests are batched, answers never depend on peers.

    `registry` None builds every page anew. `match_registered` also reuses registered texts that stand
    unmarked in a prompt. `profiles` hold what was measured for this model: depth tables, the policy `auto`
    stands for. `codec` is how pages are stored; `ConfigError` for an unknown one. The engine does not own
    the registry: close it yourself, after the engine.

    Names and pages are those of `namespace`; affixes named in `shared`, or in a request's, may come from the
    shared one. `prefetch` brings the pages of waiting requests into memory while others are answered.
    `device_bytes` bounds the pages kept on a device other than the CPU, `kv_bytes` the private KV of all
    running requests together: others wait (`private_kv` counts). `max_rows_per_step` bounds one forward, so
    that nobody waits long for others' refreshes; `max_waiting` the requests that wait. `on_forward` is called
    from the worker after every forward, with its steps and its wall seconds.
    """

    model: LoadedModel

    def __init__(
        self,
        model: LoadedModel,
        registry: Registry | None = None,
        *,
        policy: ReusePolicy | None = None,
        max_batch: int = 8,
        backend: Backend = GatherKV,
        match_registered: bool = True,
        min_affix_tokens: int = 8,
        profiles: Profiles | None = None,
        codec: str = "raw",
        namespace: str = DEFAULT_NAMESPACE,
        shared: Collection[str] = (),
        prefetch: bool = True,
        device_bytes: int = DEVICE_BYTES,
        max_rows_per_step: int = 4096,
        max_waiting: int = 16384,
        kv_bytes: int | None = None,
        on_forward: OnForward = lambda steps, seconds: None,
    ) -> None:
        if max_batch < 1:
            raise ConfigError(f"max_batch must be at least 1, not {max_batch}")
        if isinstance(shared, str):
            raise ConfigError(f"shared is {shared!r}; give a tuple of affix names")
        self.model, self.registry = model, registry
        self.policy, self.codec = policy or ReusePolicy(), codec_for(codec).name
        self.max_batch, self.backend = max_batch, backend
        self.match_registered, self.min_affix_tokens = match_registered, min_affix_tokens
        self._profile = ModelProfile(model.predictor.config, lambda: model.fingerprint, profiles)
        self.namespace, self.shared = check_name(namespace, "namespace"), tuple(shared)
        self._source = PageSource(model, registry, self.namespace)
        self._prefetcher = Prefetcher(self._pull, max_batch) if prefetch and registry is not None else None
        self._residency = Residency(model.predictor.devices, device_bytes)
        self.row_cost = RowCost()
        if registry is not None and self._residency.tier is not None:
            registry.count_device(self._residency.tier)
        self._waiting, self._scheduler = WaitingQueue(max_waiting), Scheduler(max_rows_per_step)
        self.private_kv = KVBudget(kv_bytes)
        self._on_forward = on_forward
        self._closed = threading.Event()
        self._replacing = threading.Lock()
        self._worker = self._start_worker()
        atexit.register(self.close)  # a worker still inside torch while the interpreter goes down aborts it

    def tokenize(
        self, prompt: Prompt | str, *, min_tokens: int = 0, shared: Sequence[str] = ()
    ) -> TokenizedPrompt:
        """Token ids and affix spans of `prompt`; the ids never depend on what is stored.

        Affixes shorter than `min_tokens`, or than the engine's own least, are skipped. `shared` names are
        matched beside the engine's own.
        """
        registered = self._source.registered({*self.shared, *shared}) if self.match_registered else {}
        least = max(self.min_affix_tokens, min_tokens)
        found = tokenize(prompt, self.model.tokenizer, registered=registered, min_tokens=least)
        return only_in_front(found) if self.model.exact_only else found

    def preview(self, request: Request) -> Preview:
        """What `request` would reuse now. Nothing is computed, and no hit or miss is counted.

        Raises what cannot be tokenised or planned; a prompt that is too long only says by how much.
        """
        policy = self.resolve_policy(request.policy)
        prompt = self._tokenize(request, policy)
        stored = None
        if policy.reuses:
            stored = self._source.stored(
                prompt.spans, self._need(request, prompt, policy, self._profile.table(policy))
            )
        sections = sections_of(prompt, stored, self.model.tokenizer.decode)
        config = self.model.predictor.config
        answer = config.answer_tokens(request.options.max_tokens)
        return Preview(tuple(sections), answer, config.max_tokens, policy.name)

    @property
    def row_s(self) -> float:
        """Seconds that one more row takes; see `RowCost`."""
        return self.row_cost.row_s

    @property
    def pages_peak_bytes(self) -> int:
        """The most bytes of pages that running requests used at a time, each page counted once."""
        return self._residency.peak_bytes

    def resolve_policy(self, policy: ReusePolicy | None = None) -> ReusePolicy:
        """What a request with `policy` gets: the engine's own for None, the profile's for `auto`.

        Raises `ConfigError` for one that the model cannot follow.
        """
        wanted = policy or self.policy
        return exact_policy(wanted) if self.model.exact_only else self._profile.resolve(wanted)

    def submit(
        self, request: Request, on_text: Callable[[str], None] = lambda text: None, *, wait: bool = False
    ) -> Future[Completion]:
        """Queue a request. The future's errors are ragcache's typed ones; cancelling it stops the work.

        `on_text` is called from the worker with the answer so far, after every finished block. When
        `max_waiting` requests wait already, `EngineBusyError` is raised, or room waited for with `wait`.
        Raises `EngineClosedError` after `close`.
        """
        check_asked(request.prompt)
        job = Job(request, on_text)
        waits = self._waiting.put(job, wait=wait)
        if self._worker.died:
            self._replace_worker()
        if waits and self._prefetcher is not None:
            self._prefetcher.offer(request, lambda: job.begun or job.future.done())
        return job.future

    def warm(self, texts: Sequence[str], names: Sequence[str] = ()) -> Resolved:
        """Make sure the pages of `texts` are stored; returns them with their status.

        `names`, in the order of `texts`, only matter for those that are shared.
        """
        spans = []
        for text, name in zip(texts, names or [""] * len(texts), strict=True):
            ids = self.model.tokenizer.encode(text).ids
            limit = self.model.predictor.config.max_tokens
            if len(ids) > limit:
                raise PromptTooLongError(len(ids), limit, what="affix")
            spans.append(AffixSpan(name, text, ids, 0, 0, len(ids)))
        need = Need(codec=self.codec, shared=self.shared)
        if self.model.exact_only:  # as a user's message begins; behind a system prompt it is another page
            need = exact_need(replace(need, within=Scaffold(scaffold_for("", self.model).before)))
        return self._source.resolve(spans, need, keep=True)

    def warm_names(self, names: Sequence[str]) -> Resolved:
        """`warm` for the texts of registered names. Raises as `texts_of`."""
        return self.warm(self.texts_of(names), names)

    def close(self) -> None:
        """Finish what is running, fail what still waits with `EngineClosedError`, stop the worker."""
        atexit.unregister(self.close)
        with self._replacing:
            already = self._closed.is_set()
            self._closed.set()
        for job in self._waiting.close():
            job.fail(EngineClosedError("the engine was closed before this request started"))
        if not already and self._prefetcher is not None:
            self._prefetcher.close()
        if threading.current_thread() is not self._worker:  # a callback may close, and cannot wait for itself
            self._worker.join()

    def _start_worker(self) -> Worker:
        worker = Worker(
            self.model.predictor,
            self._waiting,
            self._scheduler,
            self.max_batch,
            self._reserve,
            self._begin,
            self.row_cost,
            self._on_forward,
        )
        worker.start()
        return worker

    def _replace_worker(self) -> None:
        """Another thread in the place of one that died; the queue is the same."""
        with self._replacing:
            if self._worker.died and not self._closed.is_set():
                self._worker = self._start_worker()

    def _reserve(self, job: Job) -> Grant | None:
        """Memory for the private KV of a request, tokenised to know it; None while others have too much."""
        ready = job.ready = job.ready or self._ready(job.request)
        copies = 2 if job.request.compare else 1
        return self.private_kv.take(copies * self.model.predictor.kv_bytes(ready.tokens))

    def _ready(self, request: Request) -> Ready:
        started = time.perf_counter()
        policy = self.resolve_policy(request.policy)
        prompt = self._tokenize(request, policy)
        tokens = check_window(prompt, request, self.model.predictor.config)
        return Ready(prompt, policy, self._profile.table(policy), tokens, time.perf_counter() - started)

    def _begin(self, job: Job, grant: Grant) -> None:
        """Resolve pages, make the work."""
        ready, request = job.ready, job.request
        assert ready is not None
        spans = ready.prompt.spans if ready.policy.reuses else ()
        resolved = self._source.resolve(spans, self._need(request, ready.prompt, ready.policy, ready.table))
        session = (ExactSession if self.model.exact_only else Session)(
            request,
            ready.prompt,
            self._residency.place(resolved, job.held),
            self.model,
            ready.policy,
            self.backend,
            ready.tokenize_s,
            ready.table,
            grant.keep,
        )
        job.work = session.work(job.on_text)

    def _need(
        self, request: Request, prompt: TokenizedPrompt, policy: ReusePolicy, table: DepthTable | None
    ) -> Need:
        need = Need(
            table.checkpoints if table else (),
            codec=request.codec or self.codec,
            shared=(*self.shared, *request.shared),
        )
        if self.model.exact_only:
            return exact_need(replace(need, ids=prompt.token_ids))
        if not policy.contextual:
            return need
        within, outside = scaffold_for(request.prompt, self.model), system_text(request.prompt)
        return replace(need, within=within, outside=outside)

    def _tokenize(self, request: Request, policy: ReusePolicy) -> TokenizedPrompt:
        return self.tokenize(request.prompt, min_tokens=policy.min_tokens, shared=request.shared)

    def _pull(self, request: Request) -> None:
        """Bring the pages of a waiting request into memory; called by the prefetcher's thread."""
        policy = self.resolve_policy(request.policy)
        if policy.reuses:
            prompt = self._tokenize(request, policy)
            need = self._need(request, prompt, policy, self._profile.table(policy))
            self._source.prefetch(prompt.spans, need)
