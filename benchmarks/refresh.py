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
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.random_model import random_llada
from ragcache.decoding.canvas import Canvas
from ragcache.decoding.encode import encode_affixes
from ragcache.decoding.step import Step, forward, run
from ragcache.model.attention import GatherKV, RequestKV
from ragcache.model.segment import Segment, whole
from ragcache.model.transformer import MaskPredictor
from ragcache.page import Page
from ragcache.registry import AffixKey, Registry
from ragcache.reuse.plan import Plan, make_plan
from ragcache.reuse.policy import Anchors


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


def refresh(predictor: MaskPredictor, canvas: Canvas, live: torch.Tensor, kv: RequestKV) -> None:
    """The first forward of a block: all live rows, logits at the block's masks."""
    masked = canvas.masked(canvas.prompt_tokens, canvas.tokens)
    forward(predictor, [Step(live, canvas.token_ids[live], torch.searchsorted(live, masked), kv)])


def plan_for(predictor: MaskPredictor, canvas: Canvas, segments: list[Segment], budget: float) -> Plan:
    """The plan of one budget, probe included."""
    return run(predictor, make_plan(predictor, canvas, segments, Anchors(budget), GatherKV))


def segments_of(spans: list[tuple[int, list[int]]], pages: list[Page]) -> list[Segment]:
    """Every page at its start."""
    return [whole(page, start) for (start, _), page in zip(spans, pages, strict=True)]


def measure_round(
    predictor: MaskPredictor,
    canvas: Canvas,
    spans: list[tuple[int, list[int]]],
    store: Path,
    keys: list[AffixKey],
    budget: float,
) -> dict[str, float]:
    """Seconds of each part, once: loading from a newly opened store, then the refreshes in turn."""
    with Registry(store, memory_bytes=0) as registry:  # nothing verified yet, nothing in memory
        load_s = timed(lambda: load_pages(registry, keys))
        segments = segments_of(spans, load_pages(registry, keys))
    config, dtype, device = predictor.config, predictor.dtype, predictor.device
    place_s = timed(lambda: GatherKV(config, canvas.tokens, segments, dtype, device))
    plan_s = timed(lambda: plan_for(predictor, canvas, segments, budget))
    result = {"load": load_s, "place": place_s, "probe": plan_s - place_s}
    for name, share in (("full", 1.0), ("anchors", budget), ("direct", 0.0)):
        plan = plan_for(predictor, canvas, segments, share)
        result[name] = timed(partial(refresh, predictor, canvas, plan.live, plan.kv))
    return result


def main(repeats: int = 7, budget: float = 0.2, layers: int = 12, width: int = 768) -> None:
    """Measure and print."""
    predictor = random_llada(layers=layers, width=width)
    workload, generator = Workload(), torch.Generator().manual_seed(1)
    prompt: list[int] = []
    spans: list[tuple[int, list[int]]] = []
    for is_affix, tokens in workload.parts():
        ids = torch.randint(0, 32_000, (tokens,), generator=generator).tolist()
        if is_affix:
            spans.append((len(prompt), ids))
        prompt += ids
    canvas = Canvas(prompt, workload.canvas, workload.canvas, predictor.config.mask_id)
    encode_s = timed(lambda: encode_affixes(predictor, [ids for _, ids in spans]))
    pages = encode_affixes(predictor, [ids for _, ids in spans])
    keys = [AffixKey("random", "none", "bfloat16", predictor.config.rope, tuple(ids)) for _, ids in spans]
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Registry(path, memory_bytes=0) as registry:
            for key, page in zip(keys, pages, strict=True):
                registry.put(key, page)
        for _ in range(repeats + 1):
            round_s = measure_round(predictor, canvas, spans, path, keys, budget)
            for name, value in round_s.items():
                times.setdefault(name, []).append(value)
    live = len(plan_for(predictor, canvas, segments_of(spans, pages), budget).live)
    medians = {name: median_s(values[1:]) for name, values in times.items()}  # the first round warms up
    report(predictor, canvas, live, medians, encode_s, repeats)


def report(
    predictor: MaskPredictor,
    canvas: Canvas,
    live_rows: int,
    medians: dict[str, float],
    encode_s: float,
    repeats: int,
) -> None:
    """Table, then one line of JSON."""
    full = medians["full"]
    table = Table("what", "median s", "of a full refresh")
    for name, value in medians.items():
        table.add_row(name, f"{value:.4f}", f"{value / full:.3f}")
    table.add_row("encode all affixes (once)", f"{encode_s:.4f}", f"{encode_s / full:.3f}")
    Console().print(table)
    live = live_rows / canvas.tokens
    print(f"live rows {live_rows} of {canvas.tokens}: {live:.3f} is the limit of the refresh ratio")
    result = {
        "refresh_ratio": medians["anchors"] / full,
        "live_row_fraction": live,
        "load_ratio": medians["load"] / full,
        "place_ratio": medians["place"] / full,
        "probe_ratio": medians["probe"] / full,
        "direct_ratio": medians["direct"] / full,
        "full_refresh_s": full,
        "parameters": sum(p.numel() for p in predictor.parameters()),
        "repeats": repeats,
    }
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in result.items()}))


if __name__ == "__main__":
    typer.run(main)
