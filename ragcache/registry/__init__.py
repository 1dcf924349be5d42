"""The affix registry: named texts and their pages, on disk, safe to share between processes."""

from __future__ import annotations

from ragcache.registry.bundle import Maker, TransferReport
from ragcache.registry.codecs import CODECS, Codec, RawCodec, codec_for
from ragcache.registry.eviction import GDSF, LFU, LRU, POLICIES, EvictionPolicy
from ragcache.registry.key import DEFAULT_NAMESPACE, SHARED_NAMESPACE, AffixKey
from ragcache.registry.leases import PinKind
from ragcache.registry.names import normalise_text
from ragcache.registry.records import (
    AffixRecord,
    GcReport,
    PageRow,
    RegistryStats,
    StoreUsage,
    Usage,
    VerifyReport,
)
from ragcache.registry.registry import Registry
from ragcache.registry.remote import Remote, RemoteStats
from ragcache.registry.tier import MemoryTier, Tier

__all__ = [
    "CODECS",
    "DEFAULT_NAMESPACE",
    "GDSF",
    "LFU",
    "LRU",
    "POLICIES",
    "SHARED_NAMESPACE",
    "AffixKey",
    "AffixRecord",
    "Codec",
    "EvictionPolicy",
    "GcReport",
    "Maker",
    "MemoryTier",
    "PageRow",
    "PinKind",
    "RawCodec",
    "Registry",
    "RegistryStats",
    "Remote",
    "RemoteStats",
    "StoreUsage",
    "Tier",
    "TransferReport",
    "Usage",
    "VerifyReport",
    "codec_for",
    "normalise_text",
]
