"""A team of agents with and without reuse: `python -m benchmarks.agents`.

Planner, two specialists and a writer answer generated questions over one system prompt and four documents.
Every policy has an engine and a store of its own; seconds are those of a call, medians over all calls but the
first.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.batch import Model, Workload, load_model
from benchmarks.figures import Figure, table_of
from ragcache.connectors.langchain import ChatRagCache, EngineHandle
from ragcache.engine import Engine, LoadedModel
from ragcache.pipelines.agents import Call, Team
from ragcache.prompt import Affix
from ragcache.registry import Registry
from ragcache.reuse.policy import Full, ReusePolicy, parse_policies

SYSTEM = Affix(
    "house rules",
    "You work for a maker of kettles, lamps and radios, and help its staff with questions about the house, "
    "its people, its products and its rules. Everything you need stands in the documents. Use nothing else, "
    "and never guess: where the documents are silent, say so. Give names, places, numbers and dates as the "
    "documents spell them. Be brief, be exact, and be kind. What one colleague has found, the others need "
    "not look up again: read the notes first.",
)
DOCUMENTS = 4


@dataclass(frozen=True)
class Arm:
    """What the calls of one policy took, after the first of them."""

    policy: str
    calls: Sequence[Call]

    @property
    def median_s(self) -> float:
        """Of one call."""
        return median(call.seconds for call in self.calls)

    @property
    def shared_hit_rate(self) -> float:
        """The lowest share of the system prompt that a call found in the store."""
        return min(call.shared_hit_tokens / call.shared_tokens for call in self.calls)

    @property
    def reused(self) -> float:
        """Share of all prompt tokens that were served from pages."""
        return sum(call.reused for call in self.calls) / sum(call.prompt_tokens for call in self.calls)


def run(model: LoadedModel, policy: ReusePolicy, documents: list[Affix], questions: list[str]) -> Arm:
    """The calls of one policy, with a new store."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        registry = None if policy == Full else stack.enter_context(Registry(folder / "store"))
        engine = stack.enter_context(Engine(model, registry, policy=policy))
        chat = ChatRagCache(engine=EngineHandle.of(engine), max_tokens=16, block_length=16, steps=4)
        team = Team(chat, documents, system=SYSTEM)
        calls = [call for question in questions for call in team.ask(question).calls]
    return Arm(policy.name, calls[1:])


def main(model: Model = "nano", questions: int = 5, policies: str = "acache@0.2,direct") -> None:
    """Measure and print."""
    texts, lines = Workload(DOCUMENTS, questions).build()
    documents = [Affix(document.name, document.text) for document in texts]
    asked = [json.loads(line)["question"] for line in lines]
    loaded = load_model(model)
    run(loaded, Full, documents, asked[:1])  # warms up
    arms = [run(loaded, policy, documents, asked) for policy in (Full, *parse_policies(policies))]
    table = Table(
        "policy", "s a call", "times as fast", "least hit rate of the shared prompt", "tokens reused"
    )
    rows = []
    for arm in arms:
        speedup = arms[0].median_s / arm.median_s
        figures = (arm.median_s, speedup, arm.shared_hit_rate, arm.reused)
        table.add_row(arm.policy, *(f"{figure:.3f}" for figure in figures))
        names = ("median_s", "speedup", "shared_hit_rate", "reused")
        rows.append({"policy": arm.policy, **{n: round(f, 4) for n, f in zip(names, figures, strict=True)}})
    rates = [
        Figure(f"{arm.policy}: least hit rate of the shared prompt", arm.shared_hit_rate, "", 0.95)
        for arm in arms[1:]
    ]
    Console(width=110).print(table, table_of(rates))
    missed = [rate.name for rate in rates if rate.met == "no"]
    tokens = round(sum(call.prompt_tokens for call in arms[0].calls) / len(arms[0].calls))
    print(json.dumps({"model": model, "mean_prompt_tokens": tokens, "policies": rows, "missed": missed}))


if __name__ == "__main__":
    typer.run(main)
