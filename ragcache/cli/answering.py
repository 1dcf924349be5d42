"""The work behind `ragcache ask` and `ragcache explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from ragcache.cli.output import Stopwatch
from ragcache.cli.stores import StoreChoice, store_folder
from ragcache.connectors.embedder import MiniLMEmbedder
from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.short_form import parse_decoding
from ragcache.engine import Engine, EngineOptions, LoadedModel, load
from ragcache.engine.placement import parse_dtype
from ragcache.errors import ConfigError
from ragcache.pipelines.rag.documents import Document
from ragcache.pipelines.rag.pipeline import RagPipeline
from ragcache.registry import Registry, codec_for
from ragcache.reuse.policy import ReusePolicy, parse_policy

ANY_QUESTION = "What do the documents say?"


@dataclass(frozen=True)
class Settings:
    """How to answer."""

    model: str
    device: str
    dtype: str
    top_k: int
    policy: ReusePolicy
    codec: str
    decoding: DecodingOptions
    replicas: tuple[str, ...] = ()
    compiled: bool = False

    @classmethod
    def checked(
        cls,
        *,
        model: str,
        device: str,
        replicas: Sequence[str] = (),
        dtype: str = "auto",
        top_k: int,
        budget: float | None,
        policy: str | None,
        codec: str,
        max_tokens: int | None,
        seed: int,
        decoding: Sequence[str] | None = None,
    ) -> Settings:
        """Settings from the options of the command line. Raises `ConfigError`."""
        if top_k < 1:
            raise ConfigError(f"--top-k must be at least 1, not {top_k}")
        if replicas and device != "auto":
            raise ConfigError("--device and --replica exclude each other; name each device with --replica")
        if policy is not None:
            chosen = parse_policy(policy)
        else:
            chosen = ReusePolicy() if budget is None else ReusePolicy(budget)
        options = DecodingOptions(seed=seed)
        if max_tokens is not None:
            options = DecodingOptions(max_tokens=max_tokens, seed=seed)
        options = parse_decoding(decoding or (), options)
        parse_dtype(dtype)
        return cls(model, device, dtype, top_k, chosen, codec_for(codec).name, options, tuple(replicas))


@contextmanager
def answering(
    question: str | None,
    documents: Sequence[Document],
    settings: Settings,
    store: StoreChoice,
    watch: Stopwatch,
) -> Iterator[RagPipeline]:
    """A pipeline over the documents, ready to be asked `question`, or any. Raises ragcache's typed errors."""
    embedder = MiniLMEmbedder()
    with store.open() as registry:
        with watch.lap("load_model"):
            model = _load_both(settings, embedder, question or ANY_QUESTION)
        with engine_for(model, registry, settings, store) as engine:
            with watch.lap("index"):
                vectors = None if registry.encrypted else store_folder(store.folder) / "vectors"
                pipeline = RagPipeline(documents, engine, embedder, top_k=settings.top_k, cache=vectors)
            yield pipeline


def engine_for(model: LoadedModel, registry: Registry, settings: Settings, store: StoreChoice) -> Engine:
    """The engine that settings and store ask for. Raises `ConfigError`."""
    return engine_options(settings, store).engine(model, registry)


def engine_options(settings: Settings, store: StoreChoice) -> EngineOptions:
    """What settings and store say of an engine."""
    return EngineOptions(
        policy=settings.policy,
        codec=settings.codec,
        namespace=store.namespace,
        shared=tuple(store.shared),
        compiled=settings.compiled,
    )


def _load_both(settings: Settings, embedder: MiniLMEmbedder, question: str) -> LoadedModel:
    """The model; meanwhile the embedder loads itself, and warms up on the question."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        warm = pool.submit(embedder.embed_query, question)
        model = load(settings.model, device=settings.device, dtype=settings.dtype)
        warm.result()
    return model
