"""What a replica is made of and what it says of itself, as plain values that go over a pipe."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from ragcache.engine.engine import DEVICE_BYTES, Engine
from ragcache.engine.loaded_model import LoadedModel, load
from ragcache.engine.request import AffixStatus
from ragcache.errors import ConfigError
from ragcache.model.attention import Backend, GatherKV
from ragcache.model.segment_attention import SegmentBackend
from ragcache.registry import DEFAULT_NAMESPACE, POLICIES, Registry
from ragcache.registry.settings import RegistrySettings
from ragcache.reuse.policy import ReusePolicy

BACKENDS: Mapping[str, Backend] = MappingProxyType({"gather": GatherKV, "segment": SegmentBackend()})


@dataclass(frozen=True)
class EngineOptions:
    """The options of `Engine` that its replicas have in common; each means what it means there.

    `backend` is `gather` or `segment`. `max_waiting` counts the requests that no replica has yet; batch, rows
    and bytes are those of each replica. Raises `ConfigError` for an unknown backend or a batch of none.
    """

    policy: ReusePolicy = field(default_factory=ReusePolicy)
    max_batch: int = 8
    backend: Literal["gather", "segment"] = "gather"
    match_registered: bool = True
    min_affix_tokens: int = 8
    codec: str = "raw"
    namespace: str = DEFAULT_NAMESPACE
    shared: tuple[str, ...] = ()
    prefetch: bool = True
    device_bytes: int = DEVICE_BYTES
    max_rows_per_step: int = 4096
    max_waiting: int = 16384
    kv_bytes: int | None = None
    compiled: bool = False

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise ConfigError(f"unknown backend {self.backend!r}; known: {', '.join(BACKENDS)}")
        if self.max_batch < 1:
            raise ConfigError(f"max_batch must be at least 1, not {self.max_batch}")
        if isinstance(self.shared, str):
            raise ConfigError(f"shared is {self.shared!r}; give a tuple of affix names")

    def engine(self, model: LoadedModel, registry: Registry | None) -> Engine:
        """An engine with these options. Raises as `Engine`."""
        given: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        return Engine(model, registry, **{**given, "backend": BACKENDS[self.backend]})


@dataclass(frozen=True)
class ReplicaSpec:
    """One replica: `model`, `device` and `dtype` as in `load`, its engine's options, the common store."""

    model: str
    device: str
    dtype: str
    options: EngineOptions
    store: RegistrySettings | None

    def open(self, stack: ExitStack) -> Engine:
        """An engine, which `stack` closes, and its registry. Raises as `load`, `Registry` and `Engine`."""
        model = load(self.model, device=self.device, dtype=self.dtype)
        registry = None if self.store is None else stack.enter_context(open_registry(self.store))
        options = replace(self.options, max_waiting=sys.maxsize)  # who sends requests bounds them
        return stack.enter_context(options.engine(model, registry))


def open_registry(settings: RegistrySettings) -> Registry:
    """Another registry of the same store. Raises as `Registry`."""
    given = asdict(settings.for_others())
    del given["own"]
    eviction = None if settings.eviction is None else POLICIES[settings.eviction]
    return Registry(**{**given, "path": Path(settings.path), "eviction": eviction})


@dataclass(frozen=True)
class Outline:
    """What a replica says of its model once it is loaded; see `LoadedModel`."""

    name: str
    fingerprint: str
    dtype: str
    device: str

    @classmethod
    def of(cls, model: LoadedModel) -> Outline:
        """The outline of a loaded model."""
        return cls(model.name, model.fingerprint, model.dtype, model.device)


@dataclass(frozen=True)
class WarmedPage:
    """What became of the page of one text; `reason` says why it was not stored."""

    status: AffixStatus
    reason: str = ""


@dataclass(frozen=True)
class Warmed:
    """What became of texts that were to be warmed, by their own token ids. The pages stay where they are."""

    pages: Mapping[tuple[int, ...], WarmedPage]
