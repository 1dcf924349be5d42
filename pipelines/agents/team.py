"""A planner, specialists and a writer as a LangGraph graph; hand-offs are edges, no tool is called."""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from ragcache.errors import ConfigError, EmptyQuestionError, MissingDependencyError, RegistryError
from ragcache.pipelines.agents.calls import Call, Outcome
from ragcache.prompt import Affix

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from ragcache.connectors.langchain import ChatRagCache

log = logging.getLogger(__name__)

PIN_S = 24 * 3600.0


@dataclass(frozen=True)
class Agent:
    """Who does what: `task` is put before the question."""

    name: str
    task: str


PLANNER = Agent("planner", "Say which facts are needed, and who should find them:")
SPECIALISTS = (
    Agent("researcher", "Find the facts in the documents that the question needs."),
    Agent("checker", "Find what in the documents speaks against an easy answer."),
)
WRITER = Agent("writer", "Answer the question from the documents and the notes, in few words.")


class State(TypedDict, total=False):
    """The graph's state, JSON-plain for checkpointers. `notes` are by specialist, `calls` are `Call`s."""

    question: str
    plan: str
    notes: Annotated[dict[str, str], operator.or_]
    answer: str
    calls: Annotated[list[dict[str, Any]], operator.add]


class Team:
    """Agents that share one chat model, one `system` prompt and the `documents`; all of these are affixes.

    The planner goes first. Specialists whose name stands in its plan (all of them, if none does) then work at
    once, and the writer ends. The system prompt is registered, built and pinned here, so that every call
    finds it. Raises `ConfigError` for agents without names of their own, and the engine's errors.
    """

    def __init__(
        self,
        chat: ChatRagCache,
        documents: Sequence[Affix],
        *,
        system: Affix,
        specialists: Sequence[Agent] = SPECIALISTS,
    ) -> None:
        names = [PLANNER.name, WRITER.name, *(agent.name for agent in specialists)]
        if not specialists or len(set(names)) < len(names):
            raise ConfigError(
                f"agents {', '.join(names)}: give one specialist or more, each with its own name"
            )
        self.chat, self.documents, self.system = chat, tuple(documents), system
        self.specialists = tuple(specialists)
        self._system_tokens = len(chat.get_token_ids(system.text))
        self._keep_system()

    def ask(self, question: str) -> Outcome:
        """Let the team answer. Raises `EmptyQuestionError` and the engine's errors."""
        if not question.strip():
            raise EmptyQuestionError("the question is empty; ask something")
        state = self.graph.invoke({"question": question})
        calls = [Call(**call) for call in state["calls"]]
        return Outcome(question, state["answer"], state["plan"], state["notes"], calls)

    @cached_property
    def graph(self) -> CompiledStateGraph[State, None, State, State]:
        """The compiled graph: `invoke`, `ainvoke` or `stream` it with `{"question": ...}`.

        Raises `MissingDependencyError` without LangGraph.
        """
        try:
            from langgraph.graph import END, START, StateGraph
        except ImportError as error:
            raise MissingDependencyError(
                "Agents need LangGraph. Run: pip install 'ragcache-dllm[agents]'"
            ) from error
        builder = StateGraph(State)
        builder.add_node(PLANNER.name, self._plan)
        builder.add_node(WRITER.name, self._write)
        builder.add_edge(START, PLANNER.name)
        for agent in self.specialists:
            builder.add_node(agent.name, partial(self._note, agent))
            builder.add_edge(agent.name, WRITER.name)  # those that ran at once are waited for together
        builder.add_conditional_edges(PLANNER.name, self.route, [agent.name for agent in self.specialists])
        builder.add_edge(WRITER.name, END)
        return builder.compile()

    def route(self, state: State) -> list[str]:
        """The specialists that the plan names; all, if it names none."""
        names, plan = [agent.name for agent in self.specialists], state["plan"].lower()
        return [name for name in names if name.lower() in plan] or names

    def _plan(self, state: State) -> State:
        task = f"{PLANNER.task} {', '.join(agent.name for agent in self.specialists)}."
        return self._call(Agent(PLANNER.name, task), state, lambda text: {"plan": text})

    def _note(self, agent: Agent, state: State) -> State:
        return self._call(agent, state, lambda text: {"notes": {agent.name: text}})

    def _write(self, state: State) -> State:
        return self._call(WRITER, state, lambda text: {"answer": text})

    def _call(self, agent: Agent, state: State, result: Callable[[str], State]) -> State:
        started = time.perf_counter()
        message = self.chat.invoke(self._messages(agent, state))
        seconds = time.perf_counter() - started
        reuse = message.response_metadata["reuse"]
        call = Call.of(agent.name, reuse, self.system.name, self._system_tokens, seconds)
        return {**result(str(message.content)), "calls": [asdict(call)]}

    def _messages(self, agent: Agent, state: State) -> list[dict[str, Any]]:
        """What stays the same stands first, as blocks with ids; the agent's own comes last."""
        content: list[dict[str, str]] = []
        for document in self.documents:
            content += [_block(document), {"type": "text", "text": "\n\n"}]
        notes = "".join(f"Notes of the {name}: {note}\n" for name, note in _found(state).items())
        own = f"You are the {agent.name}. {agent.task}\n\n{notes}Question: {state['question'].strip()}"
        content.append({"type": "text", "text": own})
        return [{"role": "system", "content": [_block(self.system)]}, {"role": "user", "content": content}]

    def _keep_system(self) -> None:
        """Built before the first call, and never evicted; a store that fails is no obstacle."""
        engine = self.chat.engine.get()
        if engine.registry is None:
            return
        try:
            engine.registry.register(self.system.name, self.system.text, namespace=engine.namespace)
            engine.registry.pin(self.system.name, seconds=PIN_S, namespace=engine.namespace)
            engine.warm([self.system.text])
        except RegistryError as error:
            log.warning("the system prompt is not kept: %s", error)


def _found(state: State) -> Mapping[str, str]:
    """What colleagues wrote so far, in an order that does not depend on who was first."""
    plan = {PLANNER.name: state["plan"]} if state.get("plan") else {}
    return plan | dict(sorted(state.get("notes", {}).items()))


def _block(affix: Affix) -> dict[str, str]:
    return {"type": "text", "text": affix.text, "id": affix.name}
