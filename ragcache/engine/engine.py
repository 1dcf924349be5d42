"""The engine: one model, one registry, one worker thread; requests join and leave between steps."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from torch import Tensor

from ragcache.decoding.step import Step, Work, advance, forward
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.pages import Need, PageSource, Resolved
from ragcache.engine.profiles import ModelProfile, Profiles
from ragcache.engine.request import Completion, Request
from ragcache.engine.scaffold import scaffold_for, system_text
from ragcache.engine.session import Session, check_window
from ragcache.errors import (
    ConfigError,
    EmptyQuestionError,
    EngineClosedError,
    PromptTooLongError,
    RegistryError,
    RequestTimeoutError,
)
from ragcache.model.attention import Backend, GatherKV
from ragcache.prompt import AffixSpan, Prompt, TokenizedPrompt, tokenize
from ragcache.registry import Registry, codec_for
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.policy import ReusePolicy

log = logging.getLogger(__name__)


@dataclass
class _Job:
    """A submitted request and where its work stands."""

    request: Request
    on_text: Callable[[str], None]
    future: Future[Completion] = field(default_factory=Future)
    work: Work[Completion] | None = None
    step: Step | None = None
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


class Engine:
    """Thread-safe. `submit` from anywhere; waiting requests are batched, answers never depend on peers.

    `registry` None builds every page anew. `match_registered` also reuses registered texts that stand
    unmarked in a prompt. `profiles` hold what was measured for this model: depth tables, the policy `auto`
    stands for. `codec` is how pages are stored; `ConfigError` for an unknown one. The engine does not own
    the registry: close it yourself, after the engine.
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
    ) -> None:
        if max_batch < 1:
            raise ConfigError(f"max_batch must be at least 1, not {max_batch}")
        self.model, self.registry = model, registry
        self.policy, self.codec = policy or ReusePolicy(), codec_for(codec).name
        self.max_batch, self.backend = max_batch, backend
        self.match_registered, self.min_affix_tokens = match_registered, min_affix_tokens
        self._profile = ModelProfile(model.predictor.config, lambda: model.fingerprint, profiles)
        self._source = PageSource(model, registry)
        self._waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._submitting = threading.Lock()
        self._worker = threading.Thread(target=self._serve, name="ragcache-engine", daemon=True)
        self._worker.start()
        atexit.register(self.close)  # a worker still inside torch while the interpreter goes down aborts it

    def tokenize(self, prompt: Prompt | str, *, min_tokens: int = 0) -> TokenizedPrompt:
        """Token ids and affix spans of `prompt`; the ids never depend on what is stored.

        Affixes shorter than `min_tokens`, or than the engine's own least, are skipped.
        """
        registered = {}
        if self.match_registered and self.registry is not None:
            registered = _registered(self.registry)
        least = max(self.min_affix_tokens, min_tokens)
        return tokenize(prompt, self.model.tokenizer, registered=registered, min_tokens=least)

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
        job = _Job(request, on_text)
        with self._submitting:
            if self._closed.is_set():
                raise EngineClosedError("this engine is closed; make a new one")
            self._waiting.put(job)
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

    def warm(self, texts: Sequence[str]) -> Resolved:
        """Make sure the pages of `texts` are stored; returns them with their status."""
        spans = []
        for text in texts:
            ids = self.model.tokenizer.encode(text).ids
            limit = self.model.predictor.config.max_tokens
            if len(ids) > limit:
                raise PromptTooLongError(len(ids), limit, what="affix")
            spans.append(AffixSpan("", text, ids, 0, 0, len(ids)))
        return self._source.resolve(spans, Need(codec=self.codec), keep=True)

    def close(self) -> None:
        """Finish what is running, fail what still waits with `EngineClosedError`, stop the worker."""
        atexit.unregister(self.close)
        with self._submitting:
            already = self._closed.is_set()
            self._closed.set()
        if not already:
            self._waiting.put(None)
        if threading.current_thread() is not self._worker:  # a callback may close, and cannot wait for itself
            self._worker.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _serve(self) -> None:
        active: list[_Job] = []
        while True:
            active += self._admit(idle=not active, room=self.max_batch - len(active))
            if not active and self._closed.is_set():
                return
            active = [job for job in active if not (job.drop_if_cancelled() or job.drop_if_late())]
            self._advance(active)
            active = [job for job in active if job.step is not None]

    def _admit(self, *, idle: bool, room: int) -> list[_Job]:
        """Requests that wait, at most `room`; blocks only when idle."""
        jobs: list[_Job] = []
        while len(jobs) < room:
            try:
                job = self._waiting.get(block=idle and not jobs and not self._closed.is_set())
            except queue.Empty:
                break
            if job is None:
                continue
            if self._closed.is_set():
                job.fail(EngineClosedError("the engine was closed before this request started"))
            elif not (job.drop_if_cancelled() or job.drop_if_late()) and self._start(job):
                jobs.append(job)
        return jobs

    def _start(self, job: _Job) -> bool:
        """Tokenise, resolve pages, take the first step."""
        try:
            started = time.perf_counter()
            policy = self.resolve_policy(job.request.policy)
            table = self._profile.table(policy)
            prompt = self.tokenize(job.request.prompt, min_tokens=policy.min_tokens)
            check_window(prompt, job.request, self.model.predictor.config.max_tokens)
            tokenize_s = time.perf_counter() - started
            spans = prompt.spans if policy.reuses else ()
            resolved = self._source.resolve(spans, self._need(job.request, policy, table))
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
        need = Need(table.checkpoints if table else (), codec=request.codec or self.codec)
        if not policy.contextual:
            return need
        within, outside = scaffold_for(request.prompt, self.model), system_text(request.prompt)
        return replace(need, within=within, outside=outside)

    def _advance(self, jobs: Sequence[_Job]) -> None:
        """One forward for all; when it fails, one for each, so that only the culprit sees the error."""
        steps = [job.step for job in jobs if job.step is not None]
        if not steps:
            return
        try:
            logits = forward(self.model.predictor, steps)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].fail(error)
                return
            for job in jobs:
                self._advance([job])
            return
        for job, own in zip(jobs, logits, strict=True):
            job.advance(own)


def _is_blank(prompt: Prompt | str) -> bool:
    texts = [prompt] if isinstance(prompt, str) else [message.text for message in prompt.messages]
    return not any(text.strip() for text in texts)


def _registered(registry: Registry) -> dict[str, str]:
    """Texts by name; none when the store fails, for answers do not depend on it."""
    try:
        return {record.name: record.text for record in registry.names()}
    except RegistryError as error:
        log.warning("affix store: %s", error)
        return {}
