"""The texts that an engine knows by name, and so finds in prompts where nothing marks them."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import lru_cache

from ragcache.errors import RegistryError
from ragcache.prompt import NOTHING, SpanIndex
from ragcache.registry import SHARED_NAMESPACE, Registry
from ragcache.registry.names import NO_TEXTS, Texts

log = logging.getLogger(__name__)
INDEXES = 8  # sets of shared names whose searches are kept


class KnownTexts:
    """Those registered in `namespace`, and those of the shared one that are named. Thread-safe."""

    def __init__(self, registry: Registry | None, namespace: str) -> None:
        self.registry, self.namespace = registry, namespace
        self._index = lru_cache(INDEXES)(_index)

    def of(self, shared: Collection[str]) -> SpanIndex:
        """Finds them, public ones if named; nothing when the store fails, for answers go on.

        As long as nothing changed it is the same object, and costs the same however many there are.
        """
        if self.registry is None:
            return NOTHING
        try:
            public = self.registry.texts(SHARED_NAMESPACE) if shared else NO_TEXTS
            own = self.registry.texts(self.namespace)
        except RegistryError as error:
            log.warning("affix store: %s", error)
            return NOTHING
        return self._index(own, public, frozenset(name for name in shared if name in public.by_name))


def _index(own: Texts, public: Texts, shared: frozenset[str]) -> SpanIndex:
    named = {name: text for name, text in public.by_name.items() if name in shared}
    return SpanIndex(named | dict(own.by_name))
