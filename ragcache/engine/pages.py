"""Where registry and model meet: pages for a prompt's affixes, loaded or built."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from ragcache.decoding.encode import encode_affixes
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.request import AffixStatus
from ragcache.errors import RegistryError
from ragcache.page import Page
from ragcache.prompt import AffixSpan
from ragcache.registry import AffixKey, Registry

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ResolvedPage:
    """A page and where it came from; `reason` says why a built page could not be stored."""

    page: Page
    status: AffixStatus
    reason: str = ""


@dataclass(frozen=True)
class Resolved:
    """Pages by the affix's own token ids, and the wall seconds spent on loading and encoding."""

    pages: dict[tuple[int, ...], ResolvedPage]
    load_s: float
    encode_s: float


class PageSource:
    """Resolves affix spans to pages. Works without a registry too: then every page is built and dropped."""

    def __init__(self, model: LoadedModel, registry: Registry | None) -> None:
        self.model = model
        self.registry = registry

    def resolve(self, spans: Sequence[AffixSpan]) -> Resolved:
        """A page for every distinct affix of `spans`; missing ones are encoded in one forward and stored."""
        started = time.perf_counter()
        texts = {span.token_ids: span.text for span in spans}
        keys = {ids: self.model.key(ids) for ids in texts}
        pages = {}
        for ids, key in keys.items():
            page = self._get(key)
            if page is not None:
                pages[ids] = ResolvedPage(page, "hit")
        load_s = time.perf_counter() - started
        missing = {ids: key for ids, key in keys.items() if ids not in pages}
        if missing:
            pages |= self._build(missing, texts)
        return Resolved(pages, load_s, time.perf_counter() - started - load_s)

    def _build(
        self, missing: dict[tuple[int, ...], AffixKey], texts: dict[tuple[int, ...], str]
    ) -> dict[tuple[int, ...], ResolvedPage]:
        pages: dict[tuple[int, ...], ResolvedPage] = {}
        with ExitStack() as locks:
            for key in sorted(missing.values(), key=lambda key: key.canonical()):
                self._lock(locks, key)  # always in one order: two processes cannot wait for each other
            for ids, key in missing.items():
                page = self._get(key, count=False)
                if page is not None:  # another process built it while we waited
                    pages[ids] = ResolvedPage(page, "hit")
            todo = [ids for ids in missing if ids not in pages]
            if todo:
                started = time.perf_counter()
                built = encode_affixes(self.model.predictor, todo)
                total = sum(map(len, todo))
                encode_s = time.perf_counter() - started
                for ids, page in zip(todo, built, strict=True):
                    share_s = encode_s * len(ids) / total
                    pages[ids] = self._store(missing[ids], page, share_s, texts[ids])
        return pages

    def _get(self, key: AffixKey, *, count: bool = True) -> Page | None:
        if self.registry is None:
            return None
        try:
            return self.registry.get(key, count=count)
        except RegistryError as error:  # a store that fails is a miss: answers do not depend on it
            log.warning("affix store: %s", error)
            return None

    def _lock(self, locks: ExitStack, key: AffixKey) -> None:
        if self.registry is None:
            return
        try:
            locks.enter_context(self.registry.building(key))
        except RegistryError as error:
            log.warning("affix store: %s", error)

    def _store(self, key: AffixKey, page: Page, encode_s: float, text: str) -> ResolvedPage:
        if self.registry is None:
            return ResolvedPage(page, "built", "no store")
        try:
            digest = self.registry.text_digest(text)
            stored = self.registry.put(key, page, encode_s=encode_s, text_digest=digest)
            return ResolvedPage(stored, "built")
        except RegistryError as error:
            log.warning("affix store: %s", error)
            return ResolvedPage(page, "built", f"not stored: {error}")
