"""ragcache: prompt reuse for diffusion LLMs. Names are loaded on first use, so that importing stays cheap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragcache.decoding.denoise import DecodingOptions
    from ragcache.engine import Completion, Engine, Request, ReuseReport, load
    from ragcache.errors import RagCacheError
    from ragcache.prompt import Affix, Message, Prompt
    from ragcache.registry import Registry
    from ragcache.reuse.policy import Anchors, Direct, Full, ReusePolicy

_HOME = {
    "Affix": "ragcache.prompt",
    "Anchors": "ragcache.reuse.policy",
    "Completion": "ragcache.engine",
    "DecodingOptions": "ragcache.decoding.denoise",
    "Direct": "ragcache.reuse.policy",
    "Engine": "ragcache.engine",
    "Full": "ragcache.reuse.policy",
    "Message": "ragcache.prompt",
    "Prompt": "ragcache.prompt",
    "RagCacheError": "ragcache.errors",
    "Registry": "ragcache.registry",
    "Request": "ragcache.engine",
    "ReusePolicy": "ragcache.reuse.policy",
    "ReuseReport": "ragcache.engine",
    "load": "ragcache.engine",
}

__all__ = [
    "Affix",
    "Anchors",
    "Completion",
    "DecodingOptions",
    "Direct",
    "Engine",
    "Full",
    "Message",
    "Prompt",
    "RagCacheError",
    "Registry",
    "Request",
    "ReusePolicy",
    "ReuseReport",
    "load",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ragcache' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
