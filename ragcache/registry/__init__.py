"""The affix registry: named texts and their pages, on disk, safe to share between processes."""

from __future__ import annotations

from ragcache.registry.codecs import CODECS, Codec, RawCodec, codec_for
from ragcache.registry.eviction import LRU, EvictionPolicy
from ragcache.registry.key import AffixKey
from ragcache.registry.names import normalise_text
from ragcache.registry.records import AffixRecord, PageRow, RegistryStats, VerifyReport
from ragcache.registry.registry import Registry
from ragcache.registry.tier import MemoryTier, Tier

__all__ = [
    "CODECS",
    "LRU",
    "AffixKey",
    "AffixRecord",
    "Codec",
    "EvictionPolicy",
    "MemoryTier",
    "PageRow",
    "RawCodec",
    "Registry",
    "RegistryStats",
    "Tier",
    "VerifyReport",
    "codec_for",
    "normalise_text",
]
