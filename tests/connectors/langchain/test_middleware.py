"""`create_agent` with our middleware: what calls have in common is encoded once."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from engine.fixtures import *  # noqa: F403
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ragcache.connectors.langchain import ChatRagCache, EngineHandle, affix_message
from ragcache.engine import Engine
from ragcache.errors import ConfigError, MissingDependencyError, UnsupportedError

agents = pytest.importorskip("langchain.agents")
from ragcache.connectors.langchain.middleware import RagCacheMiddleware  # noqa: E402

SYSTEM = "You work for the harbour of the old town. Be kind and be brief."
QUESTION = "How long is the river near the town?"


@pytest.fixture
def chat(engine: Engine) -> ChatRagCache:
    return ChatRagCache(engine=EngineHandle.of(engine), max_tokens=8, block_length=4)


def agent(model: Any, **options: Any) -> Any:
    return agents.create_agent(model, system_prompt=SYSTEM, middleware=[RagCacheMiddleware(**options)])


def uses(message: AIMessage) -> list[str]:
    return [
        use["status"] for use in message.response_metadata["reuse"]["affixes"] if use["status"] != "skipped"
    ]


def test_the_system_prompt_and_history_are_read_from_the_store(chat: ChatRagCache) -> None:
    graph = agent(chat)
    first = graph.invoke({"messages": [HumanMessage(QUESTION)]})["messages"]
    assert uses(first[-1]) == ["built"]
    second = graph.invoke({"messages": [*first[:1], AIMessage("It is short."), HumanMessage("Why?")]})
    assert uses(second["messages"][-1]) == ["hit", "built", "built"]
    third = graph.invoke({"messages": [*first[:1], AIMessage("It is short."), HumanMessage("Is it?")]})
    assert uses(third["messages"][-1]) == ["hit", "hit", "hit"]


async def test_asyncio_is_the_same(chat: ChatRagCache) -> None:
    asked = {"messages": [HumanMessage(QUESTION)]}
    sync, other = agent(chat).invoke(asked), await agent(chat).ainvoke(asked)
    assert sync["messages"][-1].content == other["messages"][-1].content
    assert uses(other["messages"][-1]) == ["hit"]


def test_no_token_changes(chat: ChatRagCache) -> None:
    asked = {"messages": [HumanMessage(QUESTION), AIMessage("It is short."), HumanMessage("Why?")]}
    plain = agents.create_agent(chat, system_prompt=SYSTEM)
    counts = [
        graph.invoke(asked)["messages"][-1].usage_metadata["input_tokens"] for graph in (plain, agent(chat))
    ]
    assert counts[0] == counts[1]


def test_history_may_be_left_alone(chat: ChatRagCache) -> None:
    asked = {"messages": [HumanMessage(QUESTION), AIMessage("It is short."), HumanMessage("Why?")]}
    assert uses(agent(chat, history=False).invoke(asked)["messages"][-1]) == ["built"]


def test_the_system_prompt_can_be_pinned(chat: ChatRagCache, engine: Engine) -> None:
    assert engine.registry is not None
    agent(chat, pin_s=60.0).invoke({"messages": [HumanMessage(QUESTION)]})
    assert engine.registry.usage().pinned == {"hard": 1, "soft": 0}
    with pytest.raises(ConfigError, match="pin_s is 0"):
        RagCacheMiddleware(pin_s=0.0)


def test_an_agent_with_tools_is_told_that_there_are_none(chat: ChatRagCache) -> None:
    def clock() -> str:
        """The time."""
        return "noon"

    graph = agents.create_agent(chat, tools=[clock], system_prompt=SYSTEM)
    with pytest.raises(UnsupportedError, match="calls no tools"):
        graph.invoke({"messages": [HumanMessage(QUESTION)]})


def test_other_models_get_what_they_were_given() -> None:
    model = FakeListChatModel(responses=["fine"])
    assert agent(model).invoke({"messages": [HumanMessage(QUESTION)]})["messages"][-1].content == "fine"


def test_blocks_and_blank_messages_stay_as_they_are() -> None:
    blocks = HumanMessage([{"type": "text", "text": "one", "id": "mine"}])
    blank = SystemMessage(" ")
    assert affix_message(blocks) is blocks
    assert affix_message(blank) is blank
    named = affix_message(SystemMessage(SYSTEM), "system")
    assert named.content == [{"type": "text", "text": SYSTEM, "id": "system"}]


def test_without_langchain_the_pip_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
    monkeypatch.delitem(sys.modules, "ragcache.connectors.langchain.middleware")
    with pytest.raises(MissingDependencyError, match=r"ragcache-dllm\[agents\]"):
        importlib.import_module("ragcache.connectors.langchain.middleware")
