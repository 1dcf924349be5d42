"""How a registry was opened, as plain values: another process opens the same store likewise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ragcache.errors import ConfigError
from ragcache.registry.eviction import POLICIES, EvictionPolicy


@dataclass(frozen=True)
class RegistrySettings:
    """The arguments of a `Registry`, eviction by name: processes that share a store must agree on them.

    `own` names those that were objects of the caller's, which cannot be said in plain values.
    """

    path: str
    limit_bytes: int
    memory_bytes: int
    quotas: Mapping[str, int]
    eviction: str | None
    remote: str | None
    own: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        path: Path,
        limit_bytes: int,
        memory_bytes: int,
        quotas: Mapping[str, int],
        eviction: EvictionPolicy | None,
        remote: object,
        encryption_key: bytes | None,
    ) -> Self:
        """What a registry was opened with."""
        own = {
            "eviction": eviction is not None and type(POLICIES.get(eviction.name)) is not type(eviction),
            "remote": not isinstance(remote, str | None),
            "encryption_key": encryption_key is not None,
        }
        return cls(
            str(path.absolute()),
            limit_bytes,
            memory_bytes,
            dict(quotas),
            None if eviction is None else eviction.name,
            remote if isinstance(remote, str) else None,
            tuple(name for name, is_own in own.items() if is_own),
        )

    def for_others(self) -> Self:
        """These settings. Raises `ConfigError` where no other process can open the store likewise."""
        if self.own:
            raise ConfigError(
                f"the registry was opened with its own {', '.join(self.own)}, which other processes cannot "
                "have; give a known eviction policy, an address, and the key by RAGCACHE_STORE_KEY"
            )
        return self
