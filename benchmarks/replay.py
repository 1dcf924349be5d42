"""LRU, LFU and GDSF on a skewed trace of 10,000 requests: `make bench-replay`.

Two models share a store: LLaDA-8B (512 KiB a token) and Dream-7B (56 KiB), each with its encoding
seconds at 400 TFLOP/s; pages come from the page cache at 20 GB/s. Every request has one to four of
2,000 documents, 32 to 8192 tokens long (log-uniform), drawn by Zipf's law; half way, popularity is
dealt anew. The store holds an eighth of all bytes. The trace is synthetic, so are the seconds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import accumulate

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure, table_of
from ragcache.registry import POLICIES
from ragcache.registry.replay import Costs, Replay, compare
from ragcache.registry.trace import TraceAffix

REQUESTS, DOCUMENTS = 10_000, 2_000
SKEW = 0.9  # exponent of Zipf's law
COSTS = Costs(load_s_per_byte=1 / 20e9)
# Bytes a token; encoding seconds a token (2 x parameters) and a pair of tokens (4 x layers x hidden).
MODELS = {
    "llada-8b": (524_288, 2 * 8.0e9 / 400e12, 4 * 32 * 4096 / 400e12),
    "dream-7b": (57_344, 2 * 7.6e9 / 400e12, 4 * 28 * 3584 / 400e12),
}


def documents(count: int, chance: random.Random) -> list[TraceAffix]:
    """Affixes of both models, in no particular order."""
    made = []
    for number in range(count):
        model = chance.choice(sorted(MODELS))
        bytes_per_token, per_token, per_pair = MODELS[model]
        tokens = round(32 * 256 ** chance.random())
        encode_s = per_token * tokens + per_pair * tokens**2
        made.append(TraceAffix(f"{model}/{number}", tokens, bytes_per_token * tokens, encode_s))
    return made


def zipf_trace(requests: int, affixes: list[TraceAffix], chance: random.Random) -> Iterator[list[TraceAffix]]:
    """Requests with one to four affixes; the second half has other favourites."""
    weights = list(accumulate(1 / rank**SKEW for rank in range(1, len(affixes) + 1)))
    ranked = list(affixes)
    for number in range(requests):
        if number == requests // 2:
            chance.shuffle(ranked)
        yield chance.choices(ranked, cum_weights=weights, k=chance.randint(1, 4))


def measure(requests: int, count: int, seed: int = 0) -> tuple[Replay, ...]:
    """One result a policy."""
    chance = random.Random(seed)
    affixes = documents(count, chance)
    trace = list(zipf_trace(requests, affixes, chance))
    limit_bytes = sum(affix.size_bytes or 0 for affix in affixes) // 8
    return compare(trace, POLICIES.values(), limit_bytes, COSTS)


def figure(results: Iterable[Replay]) -> Figure:
    """What the measured cost of a page is worth in choosing which ones go."""
    saved_s = {result.policy: result.saved_s for result in results}
    return Figure("GDSF: encode seconds saved, of LRU's", saved_s["gdsf"] / saved_s["lru"], "x", 1.0)


def main() -> None:
    """Print the tables."""
    results = measure(REQUESTS, DOCUMENTS)
    table = Table("policy", "token hit rate", "saved s", "of s", "evicted", box=None)
    for row in results:
        cells = (f"{row.token_hit_rate:.3f}", f"{row.saved_s:.1f}", f"{row.encode_s:.1f}", str(row.evicted))
        table.add_row(row.policy, *cells)
    against_lru = figure(results)
    Console(width=100).print(table, table_of([against_lru]))
    print(json.dumps({"replay": [asdict(row) for row in results], "met": against_lru.met}))


if __name__ == "__main__":
    main()
