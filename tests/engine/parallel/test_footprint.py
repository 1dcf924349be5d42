"""Footprints: the affixes a request will use, and about how many rows it computes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine.asks import RIVER, SHORT, TOWN, ask, ask_about

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import EngineOptions, LoadedModel, Request
from ragcache.engine.known_texts import KnownTexts
from ragcache.engine.parallel.footprint import Footprints
from ragcache.errors import ConfigError
from ragcache.registry import DEFAULT_NAMESPACE, Registry
from ragcache.reuse.policy import Direct, Full


@pytest.fixture
def footprints(model: LoadedModel, registry: Registry) -> Footprints:
    return Footprints(model.tokenizer, model.config, KnownTexts(registry, DEFAULT_NAMESPACE), EngineOptions())


def ids(model: LoadedModel, text: str) -> tuple[int, ...]:
    return tuple(model.tokenizer.encode(text).ids)


def test_marked_and_registered_affixes_are_found(
    footprints: Footprints, model: LoadedModel, registry: Registry
) -> None:
    town = registry.register("town", TOWN).text
    found = footprints.of(ask_about(RIVER, question=f"And {town}?"))
    assert found.affixes == {ids(model, RIVER), ids(model, town)}
    marked = replace(footprints, options=EngineOptions(match_registered=False))
    assert marked.of(ask_about(RIVER, question=f"And {town}?")).affixes == {ids(model, RIVER)}


def test_rows_are_those_of_the_refreshes_less_what_pages_serve(footprints: Footprints) -> None:
    full, direct = (footprints.of(replace(ask_about(RIVER), policy=policy)) for policy in (Full, Direct))
    assert (full.affixes, len(direct.affixes)) == (frozenset(), 1)
    inside = sum(map(len, direct.affixes))
    assert full.rows - direct.rows == 2 * inside  # a canvas of 16 in blocks of 8 is refreshed twice
    once = replace(ask_about(RIVER), options=DecodingOptions(16, 16), policy=Full)
    assert full.rows == 2 * footprints.of(once).rows


def test_a_policy_leaves_out_short_affixes(footprints: Footprints) -> None:
    request = ask_about(RIVER)
    long_ones = replace(request, policy=replace(Direct, min_tokens=500))
    assert footprints.of(long_ones).affixes == frozenset()


def test_what_the_model_cannot_do_is_said(footprints: Footprints, model: LoadedModel) -> None:
    causal = replace(footprints, config=replace(model.config, causal_block=4, family="sdar"))
    with pytest.raises(ConfigError, match="blocks of 4"):
        causal.of(ask("x", options=SHORT))


def test_texts_to_encode_are_all_affix(footprints: Footprints, model: LoadedModel) -> None:
    found = footprints.of_texts([RIVER, TOWN])
    assert found.affixes == {ids(model, RIVER), ids(model, TOWN)}
    assert found.rows == len(ids(model, RIVER)) + len(ids(model, TOWN))


def test_memory_holds_as_many_tokens_as_fit_its_bytes(footprints: Footprints, model: LoadedModel) -> None:
    registry = footprints.known.registry
    assert registry is not None
    token_bytes = model.config.kv_elements_per_token * 4
    expected = registry.settings.memory_bytes // token_bytes
    assert footprints.resident_tokens("fp32") == expected
    assert footprints.resident_tokens("bf16") >= 2 * expected
    assert footprints.resident_tokens("int8") == footprints.resident_tokens("bf16")
    assert replace(footprints, known=KnownTexts(None, DEFAULT_NAMESPACE)).resident_tokens("fp32") == 0
    assert footprints.of(Request("hello there")).affixes == frozenset()
