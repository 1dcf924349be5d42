"""The engine: one model, one registry, one worker thread; requests join and leave between steps."""

from __future__ import annotations

import atexit
import queue
import threading
import time
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import Future
from dataclasses import replace

from ragcache.closing import Closing
from ragcache.decoding.step import forward
from ragcache.engine.costs import RowCost
from ragcache.engine.job import Job
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.pages import Need, PageSource, Resolved
from ragcache.engine.prefetch import Prefetcher
from ragcache.engine.preview import Preview, sections_of
from ragcache.engine.profiles import ModelProfile, Profiles
from ragcache.engine.request import Completion, Request
from ragcache.engine.residency import Residency
from ragcache.engine.scaffold import scaffold_for, system_text
from ragcache.engine.session import Session, check_window
from ragcache.errors import (
    ConfigError,
    EmptyQuestionError,
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


class Engine(Closing):
    """Thread-safe. `submit` from anywhere; waiting requests are batched, answers never depend on peers.

    `registry` None builds every page anew. `match_registered` also reuses registered texts that stand
    unmarked in a prompt. `profiles` hold what was measured for this model: depth tables, the policy `auto`
    stands for. `codec` is how pages are stored; `ConfigError` for an unknown one. The engine does not own
    the registry: close it yourself, after the engine.

    Names and pages are those of `namespace`; affixes named in `shared`, or in a request's, may come from the
    shared one. `prefetch` brings the pages of waiting requests into memory while others are answered.
    `device_bytes` bounds the pages kept on a device other than the CPU.
    """

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
        self._busy = False
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._submitting = threading.Lock()
        self._worker = threading.Thread(target=self._serve, name="ragcache-engine", daemon=True)
        self._worker.start()
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
        return tokenize(prompt, self.model.tokenizer, registered=registered, min_tokens=least)

    def preview(self, request: Request) -> Preview:
        """What `request` would reuse now. Nothing is computed, and no hit or miss is counted.

        Raises what cannot be tokenised or planned; a prompt that is too long only says by how much.
        """
        policy = self.resolve_policy(request.policy)
        prompt = self._tokenize(request, policy)
        stored = None
        if policy.reuses:
            stored = self._source.stored(
                prompt.spans, self._need(request, policy, self._profile.table(policy))
            )
        sections = sections_of(prompt, stored, self.model.tokenizer.decode)
        window = self.model.predictor.config.max_tokens
        return Preview(tuple(sections), request.options.max_tokens, window, policy.name)

    def resolve_policy(self, policy: ReusePolicy | None = None) -> ReusePolicy:
        """What a request with `policy` gets: the engine's own for None, the profile's for `auto`."""
        return self._profile.resolve(policy or self.policy)

    def submit(
        self, request: Request, on_text: Callable[[str], None] = lambda text: None
    ) -> Future[Completion]:
        """Queue a request. The future's errors are ragcache's typed ones; cancelling it stops the work.

        `on_text` is called from the worker with the answer so far, after every finished block.
        """
        if _is_blank(request.prompt):
            raise EmptyQuestionError("the prompt is empty; ask something")
        job = Job(request, on_text)
        with self._submitting:
            if self._closed.is_set():
                raise EngineClosedError("this engine is closed; make a new one")
            busy = self._busy or not self._waiting.empty()
            self._waiting.put(job)
        if busy and self._prefetcher is not None:
            self._prefetcher.offer(request, lambda: job.begun or job.future.done())
        return job.future

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers in the order of `requests`; raises the first error."""
        return [future.result() for future in [self.submit(request) for request in requests]]

    def stream(self, request: Request) -> Generator[str, None, Completion]:
        """Append-only pieces of the answer, one per finished block; returns the `Completion`."""
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        future = self.submit(request, pieces.put)
        future.add_done_callback(lambda _: pieces.put(None))
        sent = ""
        try:
            while (text := pieces.get()) is not None:
                if len(text) > len(sent):
                    yield text[len(sent) :]
                    sent = text
            completion = future.result()
        finally:
            future.cancel()
        if len(completion.text) > len(sent):
            yield completion.text[len(sent) :]
        return completion

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
        return self._source.resolve(spans, Need(codec=self.codec, shared=self.shared), keep=True)

    def warm_names(self, names: Sequence[str]) -> Resolved:
        """`warm` for the texts of registered names, found in the engine's namespace or, where shared, there.

        Raises `UnknownAffixError`; `ConfigError` without a registry.
        """
        if self.registry is None:
            raise ConfigError("this engine has no registry, so it knows no names; give it one")
        records = [self.registry.lookup_shared(name, self.namespace, self.shared) for name in names]
        return self.warm([record.text for record in records], names)

    def close(self) -> None:
        """Finish what is running, fail what still waits with `EngineClosedError`, stop the worker."""
        atexit.unregister(self.close)
        with self._submitting:
            already = self._closed.is_set()
            self._closed.set()
        if not already:
            self._waiting.put(None)
            if self._prefetcher is not None:
                self._prefetcher.close()
        if threading.current_thread() is not self._worker:  # a callback may close, and cannot wait for itself
            self._worker.join()

    def _serve(self) -> None:
        active: list[Job] = []
        while True:
            active += self._admit(idle=not active, room=self.max_batch - len(active))
            if not active and self._closed.is_set():
                return
            active = [job for job in active if not (job.drop_if_cancelled() or job.drop_if_late())]
            self._advance(active)
            active = [job for job in active if job.step is not None]

    def _admit(self, *, idle: bool, room: int) -> list[Job]:
        """Requests that wait, at most `room`; blocks only when idle."""
        jobs: list[Job] = []
        while len(jobs) < room:
            block = idle and not jobs and not self._closed.is_set()
            self._busy = not block
            try:
                job = self._waiting.get(block=block)
            except queue.Empty:
                break
            self._busy = True
            if job is None:
                continue
            if self._closed.is_set():
                job.fail(EngineClosedError("the engine was closed before this request started"))
            elif not (job.drop_if_cancelled() or job.drop_if_late()) and self._start(job):
                jobs.append(job)
        return jobs

    def _start(self, job: Job) -> bool:
        """Tokenise, resolve pages, take the first step."""
        try:
            job.begun = True
            started = time.perf_counter()
            policy = self.resolve_policy(job.request.policy)
            table = self._profile.table(policy)
            prompt = self._tokenize(job.request, policy)
            check_window(prompt, job.request, self.model.predictor.config.max_tokens)
            tokenize_s = time.perf_counter() - started
            spans = prompt.spans if policy.reuses else ()
            resolved = self._source.resolve(spans, self._need(job.request, policy, table))
            resolved = self._residency.place(resolved, job.future)
            session = Session(
                job.request, prompt, resolved, self.model, policy, self.backend, tokenize_s, table
            )
            job.work = session.work(job.on_text)
        except Exception as error:
            job.fail(error)
            return False
        job.advance(None)
        return job.step is not None

    def _need(self, request: Request, policy: ReusePolicy, table: DepthTable | None) -> Need:
        need = Need(
            table.checkpoints if table else (),
            codec=request.codec or self.codec,
            shared=(*self.shared, *request.shared),
        )
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
            self._source.prefetch(prompt.spans, self._need(request, policy, self._profile.table(policy)))

    def _advance(self, jobs: Sequence[Job]) -> None:
        """One forward for all; when it fails, one for each, so that only the culprit sees the error."""
        steps = [job.step for job in jobs if job.step is not None]
        if not steps:
            return
        started = time.perf_counter()
        try:
            logits = forward(self.model.predictor, steps)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].fail(error)
                return
            for job in jobs:
                self._advance([job])
            return
        layers = self.model.predictor.config.layers
        self.row_cost.add(sum(step.cost(layers) for step in steps), time.perf_counter() - started)
        for job, own in zip(jobs, logits, strict=True):
            job.advance(own)


def _is_blank(prompt: Prompt | str) -> bool:
    texts = [prompt] if isinstance(prompt, str) else [message.text for message in prompt.messages]
    return not any(text.strip() for text in texts)
