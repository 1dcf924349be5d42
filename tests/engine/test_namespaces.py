"""Tenants of one store: nobody hits another's pages or sees another's names; sharing is asked for."""

from __future__ import annotations

import pytest
from engine.asks import RIVER, TOWN, ask, ask_about

from ragcache.engine import Completion, Engine, LoadedModel, Request
from ragcache.errors import ConfigError, InputError, UnknownAffixError
from ragcache.registry import SHARED_NAMESPACE, Registry


def statuses(completion: Completion) -> list[str]:
    return [use.status for use in completion.reuse.affixes]


def answer(model: LoadedModel, registry: Registry, request: Request, **options: object) -> Completion:
    with Engine(model, registry, **options) as engine:  # type: ignore[arg-type]
        return engine.generate([request])[0]


def test_another_namespace_misses_and_the_same_one_hits(model: LoadedModel, registry: Registry) -> None:
    first = answer(model, registry, ask_about(RIVER), namespace="a")
    other = answer(model, registry, ask_about(RIVER), namespace="b")
    again = answer(model, registry, ask_about(RIVER), namespace="a")
    assert [statuses(one) for one in (first, other, again)] == [["built"], ["built"], ["hit"]]
    assert first.token_ids == other.token_ids == again.token_ids
    assert registry.stats().entries == 2


def test_names_of_others_are_not_matched(model: LoadedModel, registry: Registry) -> None:
    registry.register("river", RIVER, namespace="a")
    request = ask(RIVER, "How long is it?")
    assert statuses(answer(model, registry, request, namespace="a")) == ["built"]
    assert statuses(answer(model, registry, request, namespace="b")) == []
    assert statuses(answer(model, registry, request)) == []


@pytest.mark.parametrize("by", ["engine", "request"])
def test_a_public_text_is_shared_where_asked_for(model: LoadedModel, registry: Registry, by: str) -> None:
    registry.register("doc0", RIVER, namespace=SHARED_NAMESPACE)
    options = {"shared": ("doc0",)} if by == "engine" else {}
    request = ask_about(RIVER, shared=("doc0",) if by == "request" else ())
    first = answer(model, registry, request, namespace="a", **options)
    second = answer(model, registry, request, namespace="b", **options)
    unasked = answer(model, registry, ask_about(RIVER), namespace="c")
    assert [statuses(one) for one in (first, second, unasked)] == [["built"], ["hit"], ["built"]]


def test_an_own_page_comes_before_the_public_one(model: LoadedModel, registry: Registry) -> None:
    registry.register("doc0", RIVER, namespace=SHARED_NAMESPACE)
    answer(model, registry, ask_about(RIVER), namespace="a")
    found = answer(model, registry, ask_about(RIVER), namespace="a", shared=("doc0",))
    assert statuses(found) == ["hit"]
    assert registry.stats().entries == 1
    assert registry.stats().hits == 1


def test_a_private_text_of_a_public_name_stays_private(model: LoadedModel, registry: Registry) -> None:
    registry.register("doc0", RIVER, namespace=SHARED_NAMESPACE)
    answer(model, registry, ask_about(TOWN), namespace="a", shared=("doc0",))
    other = answer(model, registry, ask_about(TOWN), namespace="b", shared=("doc0",))
    assert statuses(other) == ["built"]


def test_unmarked_public_texts_are_matched_by_shared_names_only(
    model: LoadedModel, registry: Registry
) -> None:
    registry.register("river", RIVER, namespace=SHARED_NAMESPACE)
    registry.register("town", TOWN, namespace=SHARED_NAMESPACE)
    found = answer(model, registry, ask(RIVER, TOWN, "?"), namespace="a", shared=("river",))
    assert [use.name for use in found.reuse.affixes] == ["river"]


def test_names_are_warmed_in_their_namespace(model: LoadedModel, registry: Registry) -> None:
    registry.register("river", RIVER, namespace="a")
    registry.register("town", TOWN, namespace=SHARED_NAMESPACE)
    with Engine(model, registry, namespace="a", shared=("town",)) as engine:
        assert [own.status for own in engine.warm_names(["river", "town"]).pages.values()] == ["built"] * 2
        assert [own.status for own in engine.warm_names(["river", "town"]).pages.values()] == ["hit"] * 2
    with Engine(model, registry, namespace="b", shared=("town",)) as engine:
        assert [own.status for own in engine.warm_names(["town"]).pages.values()] == ["hit"]
        with pytest.raises(UnknownAffixError, match="river"):
            engine.warm_names(["river"])
    with Engine(model) as engine, pytest.raises(ConfigError, match="registry"):
        engine.warm_names(["river"])


@pytest.mark.parametrize("namespace", ["", "a\0b", "x" * 2000])
def test_an_unusable_namespace_is_refused(model: LoadedModel, namespace: str) -> None:
    with pytest.raises(InputError, match="namespace"):
        Engine(model, namespace=namespace)


def test_shared_is_a_list_of_names(model: LoadedModel) -> None:
    with pytest.raises(ConfigError, match="shared"):
        Engine(model, shared="river")
    with pytest.raises(ConfigError, match="shared"):
        Request("hello", shared="river")  # type: ignore[arg-type]


def test_a_shared_page_is_kept_by_the_codec_that_was_asked_for(
    model: LoadedModel, registry: Registry
) -> None:
    registry.register("doc0", RIVER, namespace=SHARED_NAMESPACE)
    request = ask_about(RIVER, shared=("doc0",))
    first = answer(model, registry, request, namespace="a", codec="int8")
    second = answer(model, registry, request, namespace="b", codec="int8")
    other = answer(model, registry, request, namespace="b")
    assert [statuses(one) for one in (first, second, other)] == [["built"], ["hit"], ["built"]]
    assert first.token_ids == second.token_ids
    assert sorted((row.namespace, row.codec) for row in registry.pages()) == [
        (SHARED_NAMESPACE, "int8"),
        (SHARED_NAMESPACE, "raw"),
    ]
