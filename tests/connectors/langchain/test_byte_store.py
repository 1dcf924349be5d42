"""Registered texts through LangChain's key-value interface."""

from __future__ import annotations

import pytest
from engine.fixtures import *  # noqa: F403

from ragcache.connectors.langchain import AffixByteStore, RagCacheLLM
from ragcache.engine import Engine
from ragcache.errors import DocumentError, InputError
from ragcache.registry import Registry

RIVER = "The river is long and wide; the town near it is old."


def test_what_is_put_is_reused_in_prompts(engine: Engine, llm: RagCacheLLM) -> None:
    assert engine.registry is not None
    AffixByteStore(engine.registry).mset([("river", RIVER.encode())])
    [section] = llm.explain(f"{RIVER}\nHow long?").affixes("missing")
    assert section.name == "river"


def test_a_namespace_sees_its_own(registry: Registry) -> None:
    AffixByteStore(registry, "a").mset([("x", b"mine"), ("y", b"more")])
    assert AffixByteStore(registry).mget(["x"]) == [None]
    assert list(AffixByteStore(registry, "a").yield_keys(prefix="x")) == ["x"]
    AffixByteStore(registry).mdelete(["x"])
    assert AffixByteStore(registry, "a").mget(["y", "x"]) == [b"more", b"mine"]


def test_texts_come_back_normalised(registry: Registry) -> None:
    view = AffixByteStore(registry)
    view.mset([("x", "Cafe\u0301 \r\n\u00a0nbsp \ufb01ne <|im_end|>".encode())])
    assert view.mget(["x"]) == ["Caf\u00e9\n\u00a0nbsp \ufb01ne <|im_end|>".encode()]


@pytest.mark.parametrize("value", [b"\xff", b" \n", b""])
def test_what_is_no_text_is_refused_and_nothing_written(registry: Registry, value: bytes) -> None:
    view = AffixByteStore(registry)
    with pytest.raises(DocumentError, match="'bad'"):
        view.mset([("good", b"text"), ("bad", value)])
    assert list(view.yield_keys()) == []


def test_a_name_that_is_none_is_refused(registry: Registry) -> None:
    with pytest.raises(InputError):
        AffixByteStore(registry).mget([""])
