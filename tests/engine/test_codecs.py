"""Pages kept by a codec: which one is found, and what a request sees of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from engine.asks import RIVER, ask_about

from ragcache.engine import Engine, LoadedModel, Request
from ragcache.errors import ConfigError
from ragcache.page import Page
from ragcache.registry import Registry, codec_for


def warmed(engine: Engine) -> Page:
    """The page of `RIVER` as a request sees it."""
    [found] = engine.warm([RIVER]).pages.values()
    return found.page


def same(page: Page, other: Page) -> bool:
    pairs = zip((*page.keys, *page.values), (*other.keys, *other.values), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_the_engines_codec_is_in_the_key(model: LoadedModel, registry: Registry) -> None:
    with Engine(model, registry, codec="int8") as engine:
        (cold, warm) = (engine.generate([ask_about(RIVER)])[0] for _ in range(2))
    assert [use.status for c in (cold, warm) for use in c.reuse.affixes] == ["built", "hit"]
    assert cold.token_ids == warm.token_ids
    assert [row.codec for row in registry.pages()] == ["int8"]
    ids = tuple(model.tokenizer.encode(RIVER).ids)
    assert registry.get(model.key(ids, codec="int8"), count=False) is not None
    assert registry.get(model.key(ids), count=False) is None


def test_a_request_may_ask_for_another_codec(engine: Engine, registry: Registry) -> None:
    for codec in (None, "int8", "int8", "int4"):
        engine.generate([replace(ask_about(RIVER), codec=codec)])
    assert sorted(row.codec for row in registry.pages()) == ["int4", "int8", "raw"]


@pytest.mark.parametrize("codec", ["raw", "int8", "int4", "fp8"])
def test_a_page_is_the_same_stored_or_not(model: LoadedModel, registry: Registry, codec: str) -> None:
    """Answers depend on the codec, never on whether the store kept the page."""
    with Engine(model) as plain, Engine(model, codec=codec) as bare:
        given, unstored = warmed(plain), warmed(bare)
    with Engine(model, registry, codec=codec) as engine:
        built, hit = warmed(engine), warmed(engine)
    wanted = codec_for(codec).round_trip(given)
    assert all(same(page, wanted) for page in (unstored, built, hit))
    assert same(wanted, given) == (codec == "raw")


def test_bytes_read_are_those_on_disk(model: LoadedModel, registry: Registry) -> None:
    read = {}
    for codec in ("raw", "int8"):
        with Engine(model, registry, codec=codec) as engine:
            read[codec] = [engine.generate([ask_about(RIVER)])[0].bytes_read for _ in range(2)][1]
    assert 0 < read["int8"] < read["raw"] / 2


def test_unknown_codecs_are_refused_at_once(model: LoadedModel) -> None:
    for use in (
        lambda: Engine(model, codec="zip"),
        lambda: Request("Who?", codec="zip"),
        lambda: Request("Who?", codec=""),
        lambda: model.key((1, 2), codec="zip"),
    ):
        with pytest.raises(ConfigError, match=r"unknown codec .* choose one of: raw, int8, int4, fp8"):
            use()
