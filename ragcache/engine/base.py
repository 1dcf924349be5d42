"""The face of an engine: what connectors, pipelines and commands use, whatever computes the answers."""

from __future__ import annotations

import queue
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from ragcache.closing import Closing
from ragcache.engine.answer import Pieces
from ragcache.engine.preview import Preview
from ragcache.engine.request import AffixStatus, Completion, Request
from ragcache.errors import ConfigError
from ragcache.model.config import ModelConfig
from ragcache.prompt import ChatTokenizer, Prompt, TokenizedPrompt
from ragcache.registry import Registry
from ragcache.reuse.policy import ReusePolicy


class ServedModel(Protocol):
    """What is known of an engine's model, wherever its weights are."""

    @property
    def name(self) -> str:
        """`nano`, a folder or a hub id."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of architecture and weights."""
        ...

    @property
    def dtype(self) -> str:
        """What to ask for to have such a model again."""
        ...

    @property
    def device(self) -> str:
        """Where it is computed."""
        ...

    @property
    def tokenizer(self) -> ChatTokenizer:
        """Its tokenizer."""
        ...

    @property
    def config(self) -> ModelConfig:
        """Sizes and switches; `max_tokens` is the window."""
        ...


class WarmPage(Protocol):
    """What became of one text that was to be warmed; `reason` says why its page was not stored."""

    @property
    def status(self) -> AffixStatus:
        """`hit` or `built`."""
        ...

    @property
    def reason(self) -> str:
        """Empty for a page that is stored."""
        ...


class WarmPages(Protocol):
    """What became of texts that were to be warmed."""

    @property
    def pages(self) -> Mapping[tuple[int, ...], WarmPage]:
        """By the texts' own token ids."""
        ...


class BaseEngine(Closing):
    """Requests in, completions out. `Engine` computes them itself, `DataParallelEngine` in several processes.

    `registry` and `policy`, `codec`, `namespace` and `shared` are those of requests that say nothing else.
    """

    model: ServedModel
    registry: Registry | None
    policy: ReusePolicy
    codec: str
    namespace: str
    shared: tuple[str, ...]
    max_batch: int
    match_registered: bool
    min_affix_tokens: int

    @property
    @abstractmethod
    def row_s(self) -> float:
        """Seconds that one more row of a forward takes; 0 until forwards of two sizes were seen."""

    @abstractmethod
    def tokenize(
        self, prompt: Prompt | str, *, min_tokens: int = 0, shared: Sequence[str] = ()
    ) -> TokenizedPrompt:
        """Token ids and affix spans of `prompt`; the ids never depend on what is stored."""

    @abstractmethod
    def preview(self, request: Request) -> Preview:
        """What `request` would reuse now; nothing is computed."""

    @abstractmethod
    def resolve_policy(self, policy: ReusePolicy | None = None) -> ReusePolicy:
        """What a request with `policy` gets. Raises `ConfigError` for one that the model cannot follow."""

    @abstractmethod
    def submit(
        self, request: Request, on_text: Callable[[str], None] = lambda text: None, *, wait: bool = False
    ) -> Future[Completion]:
        """Queue a request. The future's errors are ragcache's typed ones; cancelling it stops the work.

        `on_text` is called from a thread of the engine's with the answer so far, after every finished block.
        Raises `EmptyQuestionError`, `EngineClosedError`, and `EngineBusyError` unless it is to `wait`.
        """

    @abstractmethod
    def warm(self, texts: Sequence[str], names: Sequence[str] = ()) -> WarmPages:
        """Make sure the pages of `texts` are stored.

        `names`, in the order of `texts`, only matter for those that are shared.
        """

    @abstractmethod
    def warm_names(self, names: Sequence[str]) -> WarmPages:
        """`warm` for the texts of registered names, see `texts_of`."""

    def texts_of(self, names: Sequence[str]) -> list[str]:
        """The texts of registered names, found in the engine's namespace or, where shared, there.

        Raises `UnknownAffixError`; `ConfigError` without a registry.
        """
        if self.registry is None:
            raise ConfigError("this engine has no registry, so it knows no names; give it one")
        return [self.registry.lookup_shared(name, self.namespace, self.shared).text for name in names]

    def submit_pieces(self, request: Request, put: Callable[[str | None], None]) -> Future[Completion]:
        """`submit`; `put` gets the answer in append-only pieces, one per finished block, and None at last."""
        pieces = Pieces(put)
        future = self.submit(request, pieces.grow)
        future.add_done_callback(pieces.finish)
        return future

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers in the order of `requests`, any number of them; raises the first error."""
        futures = [self.submit(request, wait=True) for request in requests]
        return [future.result() for future in futures]

    def stream(self, request: Request) -> Generator[str, None, Completion]:
        """Append-only pieces of the answer, one per finished block; returns the `Completion`."""
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        future = self.submit_pieces(request, pieces.put)
        try:
            while (piece := pieces.get()) is not None:
                yield piece
            return future.result()
        finally:
            future.cancel()
