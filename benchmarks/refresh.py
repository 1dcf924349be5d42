"""What reuse saves per refresh, and what loading costs: `python -m benchmarks.refresh`.

One prompt of 2048 tokens, 90 % of it in 8 affixes, canvas 32, one block; random weights, bf16. Baseline (full
recompute) and ours take turns in one run; figures are medians.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
import typer
from rich.console import Console
from rich.table import Table

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.encode import encode_affixes
from ragcache.decoding.step import Step, forward, run
from ragcache.model.attention import GatherKV
from ragcache.model.random_weights import parameter_count, random_config, random_predictor
from ragcache.model.segment import Segment, whole
from ragcache.model.transformer import MaskPredictor
from ragcache.page import Page
from ragcache.registry import AffixKey, Registry
from ragcache.reuse.plan import Plan, depth_table, make_plan
from ragcache.reuse.policy import Anchors, Direct, Full, ReusePolicy, parse_policy


@dataclass(frozen=True)
class Workload:
    """`affixes` documents of equal length, spread evenly over the prompt; lengths in tokens."""

    prompt: int = 2048
    affix_share: float = 0.9
    affixes: int = 8
    canvas: int = 32

    def parts(self) -> list[tuple[bool, int]]:
        """`(is affix, tokens)` in prompt order, request text between the affixes."""
        length = round(self.prompt * self.affix_share / self.affixes)
        gap, rest = divmod(self.prompt - length * self.affixes, self.affixes + 1)
        parts = [(False, gap + rest)]
        for _ in range(self.affixes):
            parts += [(True, length), (False, gap)]
        return parts


def median_s(times: list[float]) -> float:
    """Median of wall seconds."""
    return statistics.median(times)


def timed(work: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def load_pages(registry: Registry, keys: list[AffixKey]) -> list[Page]:
    """Open every page and touch all of its bytes."""
    pages = []
    for key in keys:
        page = registry.get(key)
        if page is None:
            raise RuntimeError("the benchmark's own page is missing from its store")
        for tensor in (*page.keys, *page.values):
            tensor.clone()
        pages.append(page)
    return pages


def refresh_step(canvas: Canvas, plan: Plan) -> Step:
    """The first forward of a block: all live rows, logits at the block's masks."""
    live, masked = plan.at_block(0), canvas.masked(canvas.prompt_tokens, canvas.tokens)
    sample = torch.searchsorted(live.positions, masked)
    return Step(live.positions, canvas.token_ids[live.positions], sample, plan.kv, path=live.path)


def plan_for(predictor: MaskPredictor, canvas: Canvas, segments: list[Segment], policy: ReusePolicy) -> Plan:
    """The plan of one policy, probe included."""
    return run(predictor, make_plan(predictor, canvas, segments, policy, GatherKV))


def segments_of(spans: list[tuple[int, list[int]]], pages: list[Page]) -> list[Segment]:
    """Every page at its start."""
    return [whole(page, start) for (start, _), page in zip(spans, pages, strict=True)]


@dataclass(frozen=True)
class Bench:
    """One prompt, its pages in the store at `path`, and the `policies` whose refreshes take turns.

    `pages` are the same with the hidden states that depth reuse needs.
    """

    predictor: MaskPredictor
    canvas: Canvas
    spans: list[tuple[int, list[int]]]
    pages: list[Page]
    path: Path
    keys: list[AffixKey]
    policies: dict[str, ReusePolicy]

    def round(self) -> dict[str, float]:
        """Seconds of each part, once: loading from a newly opened store, then the refreshes in turn."""
        with Registry(self.path, memory_bytes=0) as registry:  # nothing verified yet, nothing in memory
            load_s = timed(lambda: load_pages(registry, self.keys))
        segments = segments_of(self.spans, self.pages)
        config, dtype, device = self.predictor.config, self.predictor.dtype, self.predictor.device
        place_s = timed(lambda: GatherKV(config, self.canvas.tokens, segments, dtype, device))
        plan_s = timed(lambda: plan_for(self.predictor, self.canvas, segments, self.policies["anchors"]))
        result = {"load": load_s, "place": place_s, "probe": plan_s - place_s}
        for name, policy in self.policies.items():
            plan = plan_for(self.predictor, self.canvas, segments, policy)
            step = refresh_step(self.canvas, plan)
            result[name] = timed(partial(forward, self.predictor, [step]))
        return result

    def live_rows(self) -> dict[str, float]:
        """What each policy computes at a refresh, as a share of all rows through all layers."""
        segments, layers = segments_of(self.spans, self.pages), self.predictor.config.layers
        steps = {
            name: refresh_step(self.canvas, plan_for(self.predictor, self.canvas, segments, policy))
            for name, policy in self.policies.items()
        }
        return {name: step.cost(layers) / self.canvas.tokens for name, step in steps.items()}


def policies_for(layers: int, budget: float) -> dict[str, ReusePolicy]:
    """Full recompute, the anchors of `budget`, and anchors with more and more layers from the pages."""
    anchors = Anchors(budget)
    deeper = (f"depth={round(layers * share)}+{anchors.name}" for share in (0.5, 0.75, 0.9))
    return {"full": Full, "anchors": anchors, "direct": Direct, **{n: parse_policy(n) for n in deeper}}


def main(repeats: int = 7, budget: float = 0.2, layers: int = 12, width: int = 768) -> None:
    """Measure and print."""
    predictor = random_predictor(random_config(layers=layers, width=width))
    workload, generator = Workload(), torch.Generator().manual_seed(1)
    prompt: list[int] = []
    spans: list[tuple[int, list[int]]] = []
    for is_affix, tokens in workload.parts():
        ids = torch.randint(0, 32_000, (tokens,), generator=generator).tolist()
        if is_affix:
            spans.append((len(prompt), ids))
        prompt += ids
    canvas = Canvas(prompt, workload.canvas, workload.canvas, predictor.config.mask_id)
    policies = policies_for(layers, budget)
    tables = [depth_table(policy, layers, None) for policy in policies.values()]
    depths = sorted({depth for table in tables if table for depth in table.checkpoints})
    encode_s = timed(lambda: encode_affixes(predictor, [ids for _, ids in spans]))
    pages = encode_affixes(predictor, [ids for _, ids in spans], depths=depths)
    keys = [AffixKey("random", "none", "bfloat16", predictor.config.rope, tuple(ids)) for _, ids in spans]
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Registry(path, memory_bytes=0) as registry:
            for key, page in zip(keys, pages, strict=True):
                registry.put(key, replace(page, hidden={}))
        bench = Bench(predictor, canvas, spans, pages, path, keys, policies)
        for _ in range(repeats + 1):
            for name, value in bench.round().items():
                times.setdefault(name, []).append(value)
    medians = {name: median_s(values[1:]) for name, values in times.items()}  # the first round warms up
    report(predictor, bench.live_rows(), medians, encode_s, repeats)


def report(
    predictor: MaskPredictor,
    live: dict[str, float],
    medians: dict[str, float],
    encode_s: float,
    repeats: int,
) -> None:
    """Table, then one line of JSON."""
    full = medians["full"]
    table = Table("what", "median s", "of a full refresh", "live rows: the limit")
    for name, value in {**medians, "encode all affixes (once)": encode_s}.items():
        rows = f"{live[name]:.3f}" if name in live else ""
        table.add_row(name, f"{value:.4f}", f"{value / full:.3f}", rows)
    Console().print(table)
    result = {
        "refresh_ratio": medians["anchors"] / full,
        "live_row_fraction": live["anchors"],
        "load_ratio": medians["load"] / full,
        "place_ratio": medians["place"] / full,
        "probe_ratio": medians["probe"] / full,
        "direct_ratio": medians["direct"] / full,
        "depth_ratios": {name: round(medians[name] / full, 4) for name in live if "depth" in name},
        "full_refresh_s": full,
        "parameters": parameter_count(predictor),
        "repeats": repeats,
    }
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in result.items()}))


if __name__ == "__main__":
    typer.run(main)
