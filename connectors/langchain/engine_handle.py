"""One engine for many LangChain objects: loaded on first use, never copied, pickled as its spec."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from ragcache.closing import Closing
from ragcache.engine import BaseEngine, EngineOptions, start_engine
from ragcache.engine.placement import parse_dtype
from ragcache.errors import ConfigError, EngineClosedError
from ragcache.registry import Registry
from ragcache.reuse.policy import ReusePolicy


@dataclass(frozen=True)
class EngineSpec:
    """What to load. `store` is the registry's folder; None keeps no pages between calls.

    `device` and `dtype` are as in `ragcache.engine.load`; an unknown dtype raises `ConfigError` at once, what
    this machine lacks when the model is loaded.
    `match_registered` also reuses texts registered in the store that stand unmarked in a prompt. `remote`,
    `namespace` and `shared` are as in `Registry` and `Engine`. With `replicas`, devices instead of the one,
    the model is loaded once for each, in processes of their own (`DataParallelEngine`).
    """

    model: str = "nano"
    store: Path | None = None
    device: str = "auto"
    max_batch: int = 8
    match_registered: bool = True
    remote: str | None = None
    namespace: str = "default"
    shared: tuple[str, ...] = ()
    dtype: str = "auto"
    replicas: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parse_dtype(self.dtype)


class EngineHandle(Closing):
    """Thread-safe. LangChain copies and re-creates its objects freely: all of them share this handle.

    Copying returns the handle itself. Pickling carries the spec, so another process loads its own weights.
    Close it when done, or use it as a context manager.
    """

    def __init__(self, spec: EngineSpec) -> None:
        self.spec = spec
        self._engine: BaseEngine | None = None
        self._lent = False
        self._closed = False
        self._lock = threading.Lock()

    @classmethod
    def of(cls, engine: BaseEngine) -> EngineHandle:
        """A handle on the caller's own engine, which `close` leaves open; it cannot be pickled."""
        model = engine.model
        spec = EngineSpec(model.name, None, model.device, engine.max_batch, engine.match_registered)
        spec = replace(spec, namespace=engine.namespace, shared=engine.shared, dtype=model.dtype)
        handle = cls(spec)
        handle._engine, handle._lent = engine, True
        return handle

    def get(self) -> BaseEngine:
        """The engine, loaded now if need be.

        Raises what loading a model or opening a store raises, and `EngineClosedError` after `close`.
        """
        with self._lock:
            if self._closed:
                raise EngineClosedError("this engine handle is closed; make a new one")
            engine = self._engine or self._load()
            self._engine = engine
            return engine

    async def aget(self) -> BaseEngine:
        """As `get`; the event loop goes on while the model is loaded."""
        engine = self._engine
        return engine if engine is not None else await asyncio.to_thread(self.get)

    @property
    def policy(self) -> ReusePolicy:
        """What a request without a policy of its own gets; loads nothing."""
        return ReusePolicy() if self._engine is None else self._engine.policy

    @property
    def window(self) -> int | None:
        """Tokens that prompt and answer may have together; None before the model is loaded."""
        return None if self._engine is None else self._engine.model.config.max_tokens

    @property
    def codec(self) -> str:
        """What a request without a codec of its own gets; loads nothing."""
        return "raw" if self._engine is None else self._engine.codec

    def close(self) -> None:
        """Let go of model and store, if the handle loaded them; may be called again."""
        with self._lock:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None and not self._lent:
            engine.close()
            if engine.registry is not None:
                engine.registry.close()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[EngineHandle], tuple[EngineSpec]]:
        if self._lent:
            raise ConfigError("a handle on your own engine cannot be pickled; make it from an EngineSpec")
        return EngineHandle, (self.spec,)

    def __repr__(self) -> str:
        return f"EngineHandle({self.spec})"

    def _load(self) -> BaseEngine:
        spec = self.spec
        options = EngineOptions(
            max_batch=spec.max_batch,
            match_registered=spec.match_registered,
            namespace=spec.namespace,
            shared=spec.shared,
        )
        with ExitStack() as stack:
            registry = None
            if spec.store is not None:
                registry = stack.enter_context(Registry(spec.store, remote=spec.remote))
            engine = start_engine(
                spec.model,
                registry,
                device=spec.device,
                replicas=spec.replicas,
                dtype=spec.dtype,
                options=options,
            )
            stack.pop_all()  # `close` sees to the registry
        return engine
