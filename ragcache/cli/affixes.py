"""The work behind `ragcache affix`; results are plain values, ready for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragcache.cli.output import complain
from ragcache.cli.stores import StoreChoice, open_registry
from ragcache.engine import Engine, load
from ragcache.errors import RegistryError, UnknownAffixError
from ragcache.registry import PageRow, codec_for, normalise_text


def put_affix(
    name: str, text: str, *, model: str, device: str, dtype: str, store: StoreChoice, codec: str
) -> dict[str, Any]:
    """Build the page of `text`, then name it: whatever fails leaves no name behind."""
    clean = normalise_text(text)
    codec_for(codec)  # refuses an unknown one before the model is loaded
    with store.open() as registry:
        with suppress(UnknownAffixError):
            registry.lookup(name, store.namespace)  # refuses an unusable name before the model is loaded
        loaded = load(model, device=device, dtype=dtype)
        with Engine(loaded, registry, codec=codec, namespace=store.namespace) as engine:
            [built] = engine.warm([clean]).pages.values()
            shortest = engine.min_affix_tokens
        if built.reason:
            raise RegistryError(f"affix {name!r}: {built.reason}")
        record = registry.register(name, clean, namespace=store.namespace)
        if built.page.tokens < shortest:
            complain("warning", f"affix {name!r}: under {shortest} tokens, prompts will not reuse it")
        rows = registry.pages(record.text_digest)
        mine = [row for row in rows if (row.model, row.codec) == (loaded.fingerprint, codec)]
        return {
            "name": record.name,
            "model": loaded.name,
            "tokens": built.page.tokens,
            "size_bytes": _sum(mine, "size_bytes") or built.page.size_bytes,
            "status": built.status,
        }


def affix_rows(store: StoreChoice) -> list[dict[str, Any]]:
    """One entry a name. `tokens` is that of its longest page, bytes and hits are of all its pages."""
    with store.open() as registry:
        return [
            {
                "name": record.name,
                "characters": len(record.text),
                "pages": len(pages),
                "tokens": max((page.tokens for page in pages), default=0),
                "size_bytes": _sum(pages, "size_bytes"),
                "hits": _sum(pages, "hits"),
            }
            for record in registry.names(store.namespace)
            for pages in [registry.pages(record.text_digest)]
        ]


def describe(name: str, store: StoreChoice) -> dict[str, Any]:
    """The text of `name` and its pages. Raises `UnknownAffixError`."""
    with store.open() as registry:
        record = registry.lookup(name, store.namespace)
        return {
            "name": record.name,
            "text": record.text,
            "created_s": record.created_s,
            "updated_s": record.updated_s,
            "pages": [_page_object(row) for row in registry.pages(record.text_digest)],
        }


def warm_affixes(
    names: Sequence[str], *, model: str, device: str, dtype: str, store: StoreChoice
) -> list[dict[str, Any]]:
    """Load or build the pages of `names`. Raises `UnknownAffixError` before the model is loaded."""
    with store.open() as registry:
        for name in names:
            registry.lookup_shared(name, store.namespace, store.shared)
        loaded = load(model, device=device, dtype=dtype)
        with Engine(loaded, registry, namespace=store.namespace, shared=store.shared) as engine:
            resolved = engine.warm_names(names)
        rows = []
        for name in names:
            record = registry.lookup_shared(name, store.namespace, store.shared)
            own = resolved.pages[tuple(loaded.tokenizer.encode(record.text).ids)]
            if own.reason:
                raise RegistryError(f"affix {name!r}: {own.reason}")
            rows.append({"name": record.name, "tokens": own.page.tokens, "status": own.status})
        return rows


def check_store(store: Path | None, *, repair: bool) -> dict[str, Any]:
    """Findings of a full check, with the pages that opening the store had set aside already."""
    with open_registry(store) as registry:
        before = registry.stats().quarantined
        report = asdict(registry.verify(repair=repair))
    return {**report, "damaged": report["damaged"] + before}


def _page_object(row: PageRow) -> dict[str, Any]:
    shown = ("model", "dtype", "codec", "tokens", "size_bytes", "hits", "encode_s")
    return {name: getattr(row, name) for name in shown}


def _sum(rows: Sequence[PageRow], field: str) -> int:
    return sum(getattr(row, field) for row in rows)
