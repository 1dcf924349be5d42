"""`explain`: the segmentation of a prompt, before and after its affixes are there."""

from __future__ import annotations

import pytest
from engine.fixtures import *  # noqa: F403
from langchain_core.messages import HumanMessage, SystemMessage

from ragcache.connectors.langchain import ChatRagCache, EngineHandle, RagCacheLLM
from ragcache.engine import Engine
from ragcache.errors import ConfigError

RIVER = "The river is long and wide; the town near it is old."
QUESTION = f"{RIVER}\n\nHow long is it?"


def test_an_llm_tells_what_it_would_reuse(llm: RagCacheLLM, engine: Engine) -> None:
    affixes = {"river": RIVER, "sea": "It is nowhere in the prompt."}
    before = llm.explain(QUESTION, affixes=affixes)
    assert [(s.name, s.status) for s in before.sections if s.name] == [
        ("river", "missing"),
        ("sea", "skipped"),
    ]
    llm.invoke(QUESTION, affixes=affixes)
    after = llm.explain(QUESTION, affixes=affixes)
    assert [(s.name, s.status) for s in after.sections if s.name] == [("river", "hit"), ("sea", "skipped")]
    assert after.prompt_tokens == before.prompt_tokens == engine.tokenize(QUESTION).tokens


def test_a_chat_model_tells_it_of_its_blocks(engine: Engine) -> None:
    chat = ChatRagCache(engine=EngineHandle.of(engine), max_tokens=8)
    block = {"type": "text", "text": RIVER, "id": "river"}
    talk = [SystemMessage("Be brief."), HumanMessage([block, {"type": "text", "text": " Why?"}])]
    assert [s.name for s in chat.explain(talk).affixes("missing")] == ["river"]
    chat.invoke(talk)
    assert [s.name for s in chat.explain(talk).affixes("hit")] == ["river"]
    assert chat.explain(talk, max_tokens=300).over > 0


def test_options_are_checked_as_in_a_call(llm: RagCacheLLM) -> None:
    with pytest.raises(ConfigError, match="no option max_token"):
        llm.explain(QUESTION, max_token=3)
    assert [s.status for s in llm.explain(RIVER, affixes={"r": RIVER}, policy="full").sections if s.name] == [
        "skipped"
    ]
