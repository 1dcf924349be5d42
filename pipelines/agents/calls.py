"""What the calls of agents reused, agent by agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """One call of one agent; counts are in tokens.

    `affix_tokens` of the prompt lie in affixes, `hit_tokens` of them in affixes whose page was stored. The
    `shared` ones are those of the system prompt that all agents have.
    """

    agent: str
    prompt_tokens: int
    affix_tokens: int
    hit_tokens: int
    shared_tokens: int
    shared_hit_tokens: int
    reused: int
    seconds: float

    @classmethod
    def of(
        cls, agent: str, reuse: Mapping[str, Any], shared: str, shared_tokens: int, seconds: float
    ) -> Call:
        """The call whose message has the report `reuse` in its `response_metadata`.

        `shared` is the name of the shared system prompt, which has `shared_tokens` when encoded alone.
        """
        uses = reuse["affixes"]
        hits = [use for use in uses if use["status"] == "hit"]
        return cls(
            agent=agent,
            prompt_tokens=reuse["prompt_tokens"],
            affix_tokens=sum(use["tokens"] for use in uses),
            hit_tokens=sum(use["tokens"] for use in hits),
            shared_tokens=shared_tokens,
            shared_hit_tokens=sum(use["tokens"] for use in hits if use["name"] == shared),
            reused=reuse["reused"],
            seconds=seconds,
        )


@dataclass(frozen=True)
class Outcome:
    """What a team found: the writer's `answer`, the planner's `plan`, `notes` by specialist, all `calls`."""

    question: str
    answer: str
    plan: str
    notes: Mapping[str, str]
    calls: Sequence[Call]

    @property
    def hit_rates(self) -> dict[str, float]:
        """Share of each agent's affix tokens whose page was in the store."""
        agents = dict.fromkeys(call.agent for call in self.calls)
        return {agent: self._rate("affix_tokens", "hit_tokens", agent) for agent in agents}

    @property
    def shared_hit_rates(self) -> dict[str, float]:
        """Share of the shared system prompt's tokens that each agent found in the store."""
        agents = dict.fromkeys(call.agent for call in self.calls)
        return {agent: self._rate("shared_tokens", "shared_hit_tokens", agent) for agent in agents}

    def _rate(self, whole: str, part: str, agent: str) -> float:
        calls = [call for call in self.calls if call.agent == agent]
        tokens = sum(getattr(call, whole) for call in calls)
        return sum(getattr(call, part) for call in calls) / tokens if tokens else 0.0
