"""How `ragcache ask` shows an answer, to people and to programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from ragcache.cli.output import Stopwatch, console
from ragcache.engine import AffixUse, Completion
from ragcache.pipelines.explain.figures import compare, duration
from ragcache.pipelines.rag.pipeline import Answer


def as_object(answer: Answer, watch: Stopwatch) -> dict[str, Any]:
    """The answer for `--json`; times in wall seconds, `total` since the command began."""
    completion, reuse = answer.completion, answer.completion.reuse
    engine_s = {name.removesuffix("_s"): value for name, value in asdict(completion.timings).items()}
    engine_s["answer"] = engine_s.pop("total")
    return {
        "answer": answer.text,
        "sources": [{"name": hit.chunk.name, "score": hit.score} for hit in answer.sources],
        "citations": [asdict(citation) for citation in answer.citations],
        "reuse": {
            "affixes": [_affix_object(use) for use in reuse.affixes],
            "prompt_tokens": reuse.prompt_tokens,
            "reused": reuse.reused,
            "recomputed": reuse.recomputed,
            "fresh": reuse.fresh,
        },
        "timings_s": {
            **watch.laps,
            "retrieve": answer.retrieve_s,
            **engine_s,
            "total": watch.total_s(),
        },
        "model": completion.model,
        "policy": completion.policy,
    }


def _affix_object(use: AffixUse) -> dict[str, Any]:
    fields = asdict(use)
    if not use.reason:
        del fields["reason"]
    return fields


def show(answer: Answer, watch: Stopwatch) -> None:
    """Answer, sources and what they say, what became of each affix, and what reuse was worth."""
    out, completion = console(), answer.completion
    out.print(answer.text or "(the model gave no answer)", style="bold")
    out.print()
    for hit in answer.sources:
        out.print(f"  {hit.score:.2f}  {hit.chunk.name}")
    for citation in answer.citations:
        out.print(f"  {citation.name}: {' '.join(citation.quote.split())}", style="dim")
    out.print()
    out.print(affix_table(completion))
    reuse = completion.reuse
    out.print(
        f"prompt: {reuse.prompt_tokens} tokens, {reuse.reused} reused, {reuse.recomputed} recomputed, "
        f"{reuse.fresh} fresh"
    )
    out.print(worth(completion))
    out.print(f"total: {watch.total_s():.1f} s, of which {watch.laps['imports']:.1f} s to start")


def affix_table(completion: Completion) -> Table:
    """What became of each affix, a line for each."""
    table = Table("affix", box=None, pad_edge=False)
    for name in ("tokens", "status", "anchors"):
        table.add_column(name, justify="left" if name == "status" else "right")
    for use in completion.reuse.affixes:
        status = f"{use.status} ({use.reason})" if use.reason else use.status
        table.add_row(Text(use.name), str(use.tokens), status, str(use.anchors))
    return table


def worth(completion: Completion) -> str:
    """Probe and refreshes against as many full forwards, and no better than it is."""
    comparison, built = compare(completion), completion.reuse.status_counts()["built"]
    line = f"context: {duration(comparison.cached_s)}"
    if comparison.verdict:
        line += f" against {duration(comparison.full_s)} for a full recompute: {comparison.verdict}"
    if built:
        took = duration(completion.timings.encode_s)
        line += f"; building {built} affix{'es' * (built > 1)} took {took}, once"
    return line
