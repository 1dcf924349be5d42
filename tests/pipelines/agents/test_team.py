"""Agents share a system prompt and documents: encoded once, hit by every call."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from engine.tiny_checkpoint import write_checkpoint

from ragcache.connectors.langchain import ChatRagCache, EngineHandle
from ragcache.engine import Engine, load
from ragcache.errors import ConfigError, EmptyQuestionError, MissingDependencyError
from ragcache.pipelines.agents import Agent, Call, Outcome, Team
from ragcache.prompt import Affix
from ragcache.registry import Registry
from ragcache.reuse.policy import Direct

pytest.importorskip("langgraph")

SYSTEM = Affix("system", "You work for the harbour of the old town. " * 6 + "Answer from the documents only.")
DOCUMENTS = (
    Affix("river.md", "The river runs from the hills to the grey sea."),
    Affix("town.md", "Ships of every kind land near the town."),
)
AGENTS = ("planner", "researcher", "checker", "writer")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("agents")
    (folder / "model").mkdir()
    model = load(str(write_checkpoint(folder / "model", 1024)), device="cpu")
    with Registry(folder / "store") as registry, Engine(model, registry, policy=Direct) as opened:
        yield opened


@pytest.fixture
def chat(engine: Engine) -> ChatRagCache:
    return ChatRagCache(engine=EngineHandle.of(engine), max_tokens=8, block_length=8)


@pytest.fixture
def team(chat: ChatRagCache) -> Team:
    return Team(chat, DOCUMENTS, system=SYSTEM)


def test_every_agent_finds_the_shared_prompt(team: Team, engine: Engine) -> None:
    outcomes = [team.ask(question) for question in ("How long is it?", "How old is it?")]
    calls = [call for outcome in outcomes for call in outcome.calls]
    assert {call.agent for call in calls} == set(AGENTS)
    assert [call.agent for call in calls[:1]] == ["planner"]
    rates = [call.shared_hit_tokens / call.shared_tokens for call in calls[1:]]
    assert min(rates) >= 0.95
    assert min(outcomes[1].hit_rates.values()) == 1.0  # the documents too
    assert engine.registry is not None
    assert engine.registry.usage().pinned["hard"] == 1


def test_the_state_is_plain_json(team: Team) -> None:
    state = team.graph.invoke({"question": "How long is it?"})
    assert json.loads(json.dumps(state)) == state
    assert set(state) == {"question", "plan", "notes", "answer", "calls"}


async def test_it_answers_the_same_from_asyncio_and_streams_messages(team: Team) -> None:
    expected = team.ask("How long is it?")
    state = await team.graph.ainvoke({"question": "How long is it?"})
    assert (state["answer"], state["notes"]) == (expected.answer, expected.notes)
    nodes = {
        metadata["langgraph_node"]
        for _, metadata in team.graph.stream({"question": "How long is it?"}, stream_mode="messages")
    }
    assert nodes == set(AGENTS)


def test_specialists_work_at_once(team: Team, chat: ChatRagCache, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(2, timeout=60)
    invoke = ChatRagCache.invoke

    def wait(self: ChatRagCache, messages: Any, *rest: Any, **kwargs: Any) -> Any:
        text = messages[-1]["content"][-1]["text"]
        if "You are the researcher" in text or "You are the checker" in text:
            together.wait()  # breaks unless both are here
        return invoke(self, messages, *rest, **kwargs)

    monkeypatch.setattr(ChatRagCache, "invoke", wait)
    assert set(team.ask("How long is it?").notes) == {"researcher", "checker"}


@pytest.mark.parametrize(
    ("plan", "chosen"),
    [("Ask the Checker.", ["checker"]), ("checker, then researcher", ["researcher", "checker"]),
     ("nobody", ["researcher", "checker"])],
)  # fmt: skip
def test_the_plan_chooses_who_works(team: Team, plan: str, chosen: list[str]) -> None:
    assert team.route({"plan": plan}) == chosen


def test_the_writer_reads_what_the_others_wrote(team: Team) -> None:
    state: Any = {"question": "Why?", "plan": "P", "notes": {"researcher": "R", "checker": "C"}}
    [_, user] = team._messages(Agent("writer", "Write."), state)
    assert user["content"][-1]["text"] == (
        "You are the writer. Write.\n\nNotes of the planner: P\nNotes of the checker: C\n"
        "Notes of the researcher: R\nQuestion: Why?"
    )


def test_without_a_store_it_answers_the_same(engine: Engine, team: Team) -> None:
    with Engine(engine.model, policy=Direct) as bare:
        alone = ChatRagCache(engine=EngineHandle.of(bare), max_tokens=8, block_length=8)
        other = Team(alone, DOCUMENTS, system=SYSTEM).ask("How long is it?")
    assert other.answer == team.ask("How long is it?").answer
    assert set(other.hit_rates.values()) == {0.0}


def test_rates_are_by_agent() -> None:
    calls = [
        Call("a", 20, 10, 10, 5, 5, 8, 0.1),
        Call("a", 20, 10, 0, 5, 0, 0, 0.1),
        Call("b", 9, 0, 0, 0, 0, 0, 0.1),
    ]
    outcome = Outcome("q", "x", "p", {}, calls)
    assert outcome.hit_rates == {"a": 0.5, "b": 0.0}
    assert outcome.shared_hit_rates == {"a": 0.5, "b": 0.0}


def test_bad_input_is_typed(team: Team, chat: ChatRagCache, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmptyQuestionError):
        team.ask(" ")
    with pytest.raises(ConfigError, match="its own name"):
        Team(chat, DOCUMENTS, system=SYSTEM, specialists=[Agent("writer", "x")])
    with pytest.raises(ConfigError, match="one specialist or more"):
        Team(chat, DOCUMENTS, system=SYSTEM, specialists=[])
    monkeypatch.setitem(__import__("sys").modules, "langgraph.graph", None)
    with pytest.raises(MissingDependencyError, match=r"ragcache-dllm\[agents\]"):
        _ = Team(chat, DOCUMENTS, system=SYSTEM).graph
