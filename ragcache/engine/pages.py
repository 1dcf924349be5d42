"""Where registry and model meet: pages for a prompt's affixes, loaded or built."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from ragcache.decoding.encode import ALONE, Scaffold, encode_affixes
from ragcache.engine.costs import CostModel
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.request import AffixStatus
from ragcache.errors import InputError, RegistryError
from ragcache.page import Page
from ragcache.prompt import AffixSpan
from ragcache.registry import DEFAULT_NAMESPACE, SHARED_NAMESPACE, AffixKey, Registry, codec_for

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ResolvedPage:
    """The page of `key` and where it came from; `reason` says why a built page was not stored.

    `before` are the ids that stood before the affix's own when it was encoded.
    """

    page: Page
    status: AffixStatus
    key: AffixKey
    reason: str = ""
    before: tuple[int, ...] = ()


@dataclass(frozen=True)
class Resolved:
    """Pages by the affix's own token ids, and the wall seconds spent on loading and encoding."""

    pages: dict[tuple[int, ...], ResolvedPage]
    load_s: float
    encode_s: float
    codec: str = "raw"

    @property
    def bytes_read(self) -> int:
        """Bytes of the pages that were there already, as they are stored."""
        codec = codec_for(self.codec)
        return sum(codec.stored_bytes(own.page) for own in self.pages.values() if own.status == "hit")


@dataclass(frozen=True)
class Need:
    """What a request asks of pages: hidden states before the layers `depths`, and the context of encoding.

    `outside` is text that the scaffold holds itself (the system prompt): it is encoded alone. Pages are
    stored, and seen, as `codec` keeps them. `shared` names affixes that may come from the shared namespace.
    Pages that fit one context alone are encoded behind what stands before them in the prompt of these `ids`.
    """

    depths: tuple[int, ...] = ()
    within: Scaffold = ALONE
    outside: str = ""
    codec: str = "raw"
    shared: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()

    def scaffold(self, span: AffixSpan) -> Scaffold:
        """The scaffold of one affix."""
        if self.ids:
            return Scaffold(self.ids[: span.start])
        return ALONE if self.outside and span.text in self.outside else self.within


PLAIN = Need()


@dataclass(frozen=True)
class _Wanted:
    """A page to find in `store` or to encode; no store means to encode it and not to keep it.

    A page that `elsewhere` has need not be under `key`, where it is stored when it is built.
    """

    key: AffixKey
    text: str
    scaffold: Scaffold
    depths: tuple[int, ...]
    store: Registry | None
    elsewhere: AffixKey | None = None


class PageSource:
    """Resolves affix spans to pages. Works without a registry too: then every page is built and dropped.

    Pages belong to `namespace`. An affix that a request names as shared, and that is registered in the shared
    namespace under that name and with that text, is looked up there too, and built there.
    """

    def __init__(
        self, model: LoadedModel, registry: Registry | None, namespace: str = DEFAULT_NAMESPACE
    ) -> None:
        self.model = model
        self.registry = registry
        self.namespace = namespace
        self.costs = CostModel()

    def resolve(self, spans: Sequence[AffixSpan], need: Need = PLAIN, *, keep: bool = False) -> Resolved:
        """A page for every distinct affix of `spans`; missing ones are encoded in one forward and stored.

        The store is left alone where encoding has proved faster than reading, unless pages are to `keep`,
        which is no use of them: neither hits nor misses are counted then.
        """
        started = time.perf_counter()
        wanted = {span.token_ids: self._wanted(span, need, keep) for span in spans}
        pages = {}
        for ids, want in wanted.items():
            page = self._load(want, use=not keep)
            if page is not None:
                pages[ids] = ResolvedPage(page, "hit", want.key, before=want.scaffold.before)
        load_s = time.perf_counter() - started
        missing = {ids: want for ids, want in wanted.items() if ids not in pages}
        if missing:
            pages |= self._build(missing)
        return Resolved(pages, load_s, time.perf_counter() - started - load_s, need.codec)

    def prefetch(self, spans: Sequence[AffixSpan], need: Need = PLAIN) -> None:
        """Bring the pages of `spans` that are stored into memory; builds none. Raises RegistryError."""
        for want in [self._wanted(span, need, keep=False) for span in spans]:
            if want.store is not None and not (want.elsewhere and want.store.warm([want.elsewhere])):
                want.store.warm([want.key], [want.text])

    def stored(self, spans: Sequence[AffixSpan], need: Need = PLAIN) -> set[tuple[int, ...]]:
        """Token ids of those `spans` whose page is there; counts nothing, asks no remote."""
        found = set()
        for span in spans:
            want = self._wanted(span, need, keep=True)
            keys = [want.key, *([want.elsewhere] if want.elsewhere else [])]
            if any(self._get(replace(want, key=key, elsewhere=None), count=False) for key in keys):
                found.add(span.token_ids)
        return found

    def _wanted(self, span: AffixSpan, need: Need, keep: bool) -> _Wanted:
        scaffold = need.scaffold(span)
        around = len(scaffold.before) + len(scaffold.after)
        if around + len(span.token_ids) > self.model.predictor.config.max_tokens:
            scaffold = ALONE  # positions beyond the window mean nothing to the model
        key = self.model.key(
            span.token_ids,
            scaffold=scaffold,
            depths=need.depths,
            codec=need.codec,
            namespace=self.namespace,
        )
        passed_over = not keep and self.costs.encoding_is_faster(len(span.token_ids))
        store = None if passed_over else self.registry
        if store is not None and span.name in need.shared and self._is_shared(store, span):
            return _Wanted(
                replace(key, namespace=SHARED_NAMESPACE), span.text, scaffold, need.depths, store, key
            )
        return _Wanted(key, span.text, scaffold, need.depths, store)

    @staticmethod
    def _is_shared(store: Registry, span: AffixSpan) -> bool:
        """Whether exactly this text is public: a private one of the same name must not end up there."""
        try:
            return store.lookup(span.name, SHARED_NAMESPACE).text == span.text
        except (RegistryError, InputError):
            return False

    def _load(self, want: _Wanted, *, use: bool) -> Page | None:
        started = time.perf_counter()
        fetched = self._fetched()
        page = self._get(want) if use else self._warmed(want)
        if page is not None and self._fetched() == fetched:  # a remote says nothing about this disk
            self.costs.loaded(page.tokens, time.perf_counter() - started)
        return page

    def _fetched(self) -> int:
        stats = self.registry.remote_stats() if self.registry is not None else None
        return stats.hits if stats is not None else 0

    def _build(self, missing: dict[tuple[int, ...], _Wanted]) -> dict[tuple[int, ...], ResolvedPage]:
        pages: dict[tuple[int, ...], ResolvedPage] = {}
        with ExitStack() as locks:
            for want in sorted(missing.values(), key=lambda want: want.key.canonical()):
                self._lock(locks, want)  # always in one order: two processes cannot wait for each other
            for ids, want in missing.items():
                page = self._get(want, count=False)
                if page is not None:  # another process built it while we waited
                    pages[ids] = ResolvedPage(page, "hit", want.key, before=want.scaffold.before)
            todo = [ids for ids in missing if ids not in pages]
            if todo:
                started = time.perf_counter()
                depths = next(iter(missing.values())).depths
                scaffolds = [missing[ids].scaffold for ids in todo]
                built = encode_affixes(self.model.predictor, todo, scaffolds=scaffolds, depths=depths)
                total = sum(map(len, todo))
                encode_s = time.perf_counter() - started
                self.costs.encoded(total, encode_s)
                for ids, page in zip(todo, built, strict=True):
                    share_s = encode_s * len(ids) / total
                    pages[ids] = self._store(missing[ids], page, share_s)
        return pages

    def _warmed(self, want: _Wanted) -> Page | None:
        """As `_get`, also from a remote, but uncounted."""
        for key in (want.elsewhere, want.key):
            try:
                if want.store is not None and key is not None and want.store.warm([key], [want.text]):
                    return want.store.get(key, count=False)
            except RegistryError as error:
                log.warning("affix store: %s", error)
        return None

    def _get(self, want: _Wanted, *, count: bool = True) -> Page | None:
        if want.store is None:
            return None
        try:
            if count and want.elsewhere and want.store.warm([want.elsewhere], [want.text]):
                return want.store.get(want.elsewhere)
            return want.store.get(want.key, count=count, text=want.text)
        except RegistryError as error:  # a store that fails is a miss: answers do not depend on it
            log.warning("affix store: %s", error)
            return None

    def _lock(self, locks: ExitStack, want: _Wanted) -> None:
        if want.store is None:
            return
        try:
            locks.enter_context(want.store.building(want.key))
        except RegistryError as error:
            log.warning("affix store: %s", error)

    def _store(self, want: _Wanted, page: Page, encode_s: float) -> ResolvedPage:
        if want.store is None:
            reason = "no store" if self.registry is None else "encoding is faster than reading here"
            return _unstored(want, page, reason)
        try:
            digest = want.store.text_digest(want.text, want.key.namespace)
            stored = want.store.put(want.key, page, encode_s=encode_s, text_digest=digest)
            return ResolvedPage(stored, "built", want.key, before=want.scaffold.before)
        except RegistryError as error:
            log.warning("affix store: %s", error)
            return _unstored(want, page, f"not stored: {error}")


def _unstored(want: _Wanted, page: Page, reason: str) -> ResolvedPage:
    """The page as a store would give it back: answers depend on the codec, not on the store."""
    with suppress(RegistryError):  # the codec cannot hold it, with a store or without
        page = codec_for(want.key.codec).round_trip(page)
    return ResolvedPage(page, "built", want.key, reason, want.scaffold.before)
