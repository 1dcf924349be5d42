"""The engine: one model, one registry, one worker thread; requests join and leave between steps."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from functools import partial

from ragcache.engine.affix_reuse import reuse_of
from ragcache.engine.base import BaseEngine
from ragcache.engine.costs import RowCost
from ragcache.engine.job import Job, Ready
from ragcache.engine.known_texts import KnownTexts
from ragcache.engine.kv_pool import Grant, KVPool
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.pages import Need, PageSource, Resolved
from ragcache.engine.prefetch import Prefetcher
from ragcache.engine.preview import Preview, sections_of
from ragcache.engine.profiles import Profiles
from ragcache.engine.request import Completion, Request
from ragcache.engine.residency import Residency
from ragcache.engine.scheduler import Scheduler
from ragcache.engine.session import check_window, private_columns
from ragcache.engine.supervisor import Supervisor
from ragcache.engine.waiting import WaitingQueue
from ragcache.engine.worker import OnForward, Worker
from ragcache.errors import ConfigError, PromptTooLongError
from ragcache.model.attention import Backend, GatherKV
from ragcache.model.compiled import compile_layers
from ragcache.model.private_memory import FreshMemory
from ragcache.prompt import NOTHING, AffixSpan, Prompt, SpanIndex, TokenizedPrompt, tokenize
from ragcache.registry import DEFAULT_NAMESPACE, Registry, codec_for
from ragcache.registry.names import check_name
from ragcache.reuse.policy import ReusePolicy, as_policy
from ragcache.threads import in_own_thread

DEVICE_BYTES = 2 * 2**30


class Engine(BaseEngine):
    """Thread-safe. `submit` from anywhere; waiting requests are batched, answers never depend on peers.

    `policy` may be in short form, such as `qa@0.2`. `registry` None builds every page anew.
    `match_registered` also reuses registered texts that stand unmarked in a prompt. `profiles` hold what was
    measured for this model: depth tables, the policy `auto` stands for. `codec` is how pages are stored. An
    unknown policy or codec is a `ConfigError`. The engine does not own the registry: close it yourself, after
    the engine.

    Names and pages are those of `namespace`; affixes named in `shared`, or in a request's, may come from the
    shared one. `prefetch` brings the pages of waiting requests into memory while others are answered.
    `device_bytes` bounds the pages kept on a device other than the CPU. `kv_bytes` are set aside for the
    private KV of all running requests together, and others wait; None takes what is needed (`private_kv`
    counts). `max_rows_per_step` bounds one forward, so that nobody waits long for others' refreshes;
    `max_waiting` the requests that wait. `compiled` has torch.compile make the layers faster, which takes
    seconds once (`MissingDependencyError` without a compiler). `on_forward` is called from the worker after
    every forward, with its steps and its wall seconds.
    """

    model: LoadedModel

    def __init__(
        self,
        model: LoadedModel,
        registry: Registry | None = None,
        *,
        policy: ReusePolicy | str | None = None,
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
        compiled: bool = False,
        on_forward: OnForward = lambda steps, seconds: None,
    ) -> None:
        if max_batch < 1:
            raise ConfigError(f"max_batch must be at least 1, not {max_batch}")
        if isinstance(shared, str):
            raise ConfigError(f"shared is {shared!r}; give a tuple of affix names")
        if compiled:
            compile_layers(model.mask_predictor)
        self.model, self.registry = model, registry
        self.policy = as_policy(ReusePolicy() if policy is None else policy)
        self.codec = codec_for(codec).name
        # a network that is not ours keeps its KV itself, of the whole prompt, and pages as they are
        self.max_batch, self.backend = max_batch, GatherKV if model.exact_only else backend
        self.match_registered, self.min_affix_tokens = match_registered, min_affix_tokens
        self.namespace, self.shared = check_name(namespace, "namespace"), tuple(shared)
        self._reuse = reuse_of(model, profiles)
        self._source = PageSource(model, registry, self.namespace)
        self._known = KnownTexts(registry, self.namespace)
        memory = FreshMemory(model.predictor.config, model.predictor.dtype, model.predictor.devices)
        self.private_kv = KVPool(memory, model.predictor.kv_bytes(1), kv_bytes)
        made = partial(self.backend.resident, **vars(memory))
        self._residency = Residency(memory.devices, device_bytes, made)
        if registry is not None and self._residency.tier is not None:
            registry.count_device(self._residency.tier)
        self.row_cost = RowCost()
        self._scheduler, self._on_forward = Scheduler(max_rows_per_step), on_forward
        self._workers = Supervisor(WaitingQueue(max_waiting), self._make_worker)
        self._prefetcher = Prefetcher(self._pull, max_batch) if prefetch and registry is not None else None
        atexit.register(self.close)  # a worker still inside torch while the interpreter goes down aborts it

    def tokenize(
        self, prompt: Prompt | str, *, min_tokens: int = 0, shared: Sequence[str] = ()
    ) -> TokenizedPrompt:
        """Token ids and affix spans of `prompt`; the ids never depend on what is stored.

        Affixes shorter than `min_tokens`, or than the engine's own least, are skipped. `shared` names are
        matched beside the engine's own.
        """
        return self._tokenize(prompt, self._registered(shared), min_tokens)

    def preview(self, request: Request) -> Preview:
        """What `request` would reuse now. Nothing is computed, and no hit or miss is counted.

        Raises what cannot be tokenised or planned; a prompt that is too long only says by how much.
        """
        ready = self._prepare(request)
        stored = None
        if ready.policy.reuses:
            spans, need = ready.prompt.spans, self._need(request, ready)
            stored = in_own_thread(lambda: self._source.stored(spans, need))  # decodes pages
        sections = sections_of(ready.prompt, stored, self.model.tokenizer.decode)
        config = self.model.predictor.config
        answer = config.answer_tokens(request.options.max_tokens)
        return Preview(tuple(sections), answer, config.max_tokens, ready.policy.name)

    @property
    def row_s(self) -> float:
        """Seconds that one more row takes; see `RowCost`."""
        return self.row_cost.row_s

    @property
    def pages_peak_bytes(self) -> int:
        """The most bytes of pages that running requests used at a time, each page counted once."""
        return self._residency.peak_bytes

    def resolve_policy(self, policy: ReusePolicy | str | None = None) -> ReusePolicy:
        """What a request with `policy` gets: the engine's own for None, the profile's for `auto`.

        Raises `ConfigError` for one that the model cannot follow.
        """
        return self._reuse.policy(self.policy if policy is None else as_policy(policy))

    def submit(
        self, request: Request, on_text: Callable[[str], None] = lambda text: None, *, wait: bool = False
    ) -> Future[Completion]:
        """Queue a request. The future's errors are ragcache's typed ones; cancelling it stops the work.

        `on_text` is called from the worker with the answer so far, after every finished block. When
        `max_waiting` requests wait already, `EngineBusyError` is raised, or room waited for with `wait`.
        Raises `EngineClosedError` after `close`.
        """
        request.check_asked()
        job = Job(request, on_text)
        waits = self._workers.submit(job, wait=wait)
        if waits and self._prefetcher is not None:
            self._prefetcher.offer(job)
        return job.future

    def warm(self, texts: Sequence[str], names: Sequence[str] = ()) -> Resolved:
        """Make sure the pages of `texts` are stored; returns them with their status.

        The worker encodes what is missing, between two forwards of the requests it is at. `names`, in the
        order of `texts`, only matter for those that are shared. Raises `PromptTooLongError`,
        `EngineClosedError`, or `WorkerDiedError`.
        """
        spans = []
        for text, name in zip(texts, names or [""] * len(texts), strict=True):
            ids = self.model.tokenizer.encode(text).ids
            limit = self.model.predictor.config.max_tokens
            if len(ids) > limit:
                raise PromptTooLongError(len(ids), limit, what="affix")
            spans.append(AffixSpan(name, text, ids, 0, 0, len(ids)))
        need = self._reuse.warm_need(Need(codec=self.codec, shared=self.shared))
        return self._workers.run(lambda: self._source.resolve(spans, need, keep=True))

    def warm_names(self, names: Sequence[str]) -> Resolved:
        """`warm` for the texts of registered names. Raises as `texts_of`."""
        return self.warm(self.texts_of(names), names)

    def close(self) -> None:
        """Finish what is running, fail what still waits with `EngineClosedError`, stop the worker."""
        atexit.unregister(self.close)
        self._workers.close()
        if self._prefetcher is not None:
            self._prefetcher.close()

    def _make_worker(self, waiting: WaitingQueue) -> Worker:
        return Worker(
            self.model.predictor,
            waiting,
            self._scheduler,
            self.max_batch,
            self._reserve,
            self._begin,
            self.row_cost,
            self._on_forward,
        )

    def _reserve(self, job: Job) -> Grant | None:
        """Memory for the private KV of a request, tokenised to know it; None while others have too much."""
        ready, config = self._ready(job), self.model.predictor.config
        job.granted, tokens = ready, check_window(ready.prompt, job.request, config)
        return self.private_kv.take(private_columns(job.request, ready, self.backend, config, tokens))

    def _begin(self, job: Job, grant: Grant) -> None:
        """Resolve pages, make the work."""
        ready, request = job.granted, job.request
        assert ready is not None
        spans = ready.prompt.spans if ready.policy.reuses else ()
        resolved = self._source.resolve(spans, self._need(request, ready))
        session = self._reuse.session(
            request,
            ready,
            self._residency.place(resolved, job.held),
            self.model,
            self.backend,
            grant,
            lambda: job.forward_s,
        )
        job.work = session.work(job.on_text)

    def _pull(self, job: Job) -> None:
        """Tokenise a waiting request, and bring its pages into memory; called by the prefetcher."""
        ready = self._ready(job)
        check_window(ready.prompt, job.request, self.model.predictor.config)
        if ready.policy.reuses:
            self._source.prefetch(ready.prompt.spans, self._need(job.request, ready))

    def _ready(self, job: Job) -> Ready:
        """`job` prepared, by the prefetcher or the worker, whoever comes first; both at once do no harm.

        Anew where names were registered or removed meanwhile. Ids do not depend on them, but spans do: the
        page of a text that was forgotten must not be stored again.
        """
        ready = job.ready
        if ready is None or ready.registered is not self._registered(job.request.shared):
            ready = self._prepare(job.request)
            if not job.settled:
                job.ready = ready
        return ready

    def _prepare(self, request: Request) -> Ready:
        started = time.perf_counter()
        policy, registered = self.resolve_policy(request.policy), self._registered(request.shared)
        prompt = self._tokenize(request.prompt, registered, policy.min_tokens)
        return Ready(prompt, policy, self._reuse.table(policy), registered, time.perf_counter() - started)

    def _tokenize(self, prompt: Prompt | str, registered: SpanIndex, min_tokens: int) -> TokenizedPrompt:
        least = max(self.min_affix_tokens, min_tokens)
        found = tokenize(prompt, self.model.tokenizer, registered=registered, min_tokens=least)
        return self._reuse.usable(found)

    def _registered(self, shared: Collection[str]) -> SpanIndex:
        return self._known.of({*self.shared, *shared}) if self.match_registered else NOTHING

    def _need(self, request: Request, ready: Ready) -> Need:
        codec, shared = request.codec or self.codec, (*self.shared, *request.shared)
        return self._reuse.need(Need(codec=codec, shared=shared), request, ready)
