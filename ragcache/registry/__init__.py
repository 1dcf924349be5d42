"""The affix registry: named texts and their pages, on disk, safe to share between processes."""

from __future__ import annotations

from ragcache.registry.codec import CODECS, Codec, RawCodec
from ragcache.registry.eviction import LRU, EvictionPolicy
from ragcache.registry.key import DEFAULT_NAMESPACE, SHARED_NAMESPACE, AffixKey
from ragcache.registry.names import normalise_text
from ragcache.registry.records import AffixRecord, PageRow, RegistryStats, VerifyReport
from ragcache.registry.registry import Registry
from ragcache.registry.remote import Remote, RemoteStats
from ragcache.registry.tier import MemoryTier, Tier

__all__ = [
    "CODECS",
    "DEFAULT_NAMESPACE",
    "LRU",
    "SHARED_NAMESPACE",
    "AffixKey",
    "AffixRecord",
    "Codec",
    "EvictionPolicy",
    "MemoryTier",
    "PageRow",
    "RawCodec",
    "Registry",
    "RegistryStats",
    "Remote",
    "RemoteStats",
    "Tier",
    "VerifyReport",
    "normalise_text",
]
