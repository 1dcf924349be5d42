"""Several agents over one engine: a system prompt and documents that all of them share are encoded once."""

from __future__ import annotations

from ragcache.pipelines.agents.calls import Call, Outcome
from ragcache.pipelines.agents.team import Agent, Team

__all__ = ["Agent", "Call", "Outcome", "Team"]
