"""Attention kernels on a GPU, side by side: `python -m benchmarks.kernels` (`make bench-kernels`).

Shapes are LLaDA-8B's at one layer: `n` rows (32 or 64 refine a block, more refresh) over one segment of `m`
columns, a fifth of them stale, the query turned by its distance to the segment. Kernels take turns; a figure
is the median of rounds of several launches each. Without a CUDA device it says so and exits with 2.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks.figures import timed, turns
from ragcache.model.kernels import flex, plain, triton_segment
from ragcache.model.kernels.choice import Kernel
from ragcache.model.kernels.plain import Partial
from ragcache.model.rope import Turn, frequencies

THETA = 500_000.0
STALE = 0.2
LAUNCHES = 10


@dataclass(frozen=True)
class Row:
    """Seconds of one call by kernel, at `n` rows and `m` columns; `tflops` the fastest one's TFLOP/s."""

    n: int
    m: int
    seconds: dict[str, float]
    tflops: float


def triton_copy(
    q: Tensor, keys: Tensor, values: Tensor, keep: Tensor | None = None, turn: Turn | None = None
) -> Partial:
    """Our kernel, given a rotated copy of the query: what turning inside it saves."""
    return triton_segment.attend(q if turn is None else turn.rotate(q), keys, values, keep)


KERNELS: dict[str, Kernel] = {
    "plain": plain.attend,
    "flex": flex.attend,
    "triton": triton_segment.attend,
    "triton, query copied": triton_copy,
}


def measure(
    n: int, m: int, heads: int, head_dim: int, dtype: torch.dtype, device: torch.device, repeats: int
) -> Row:
    """All kernels at one shape."""
    generator = torch.Generator(device).manual_seed(0)
    q, keys, values = (
        torch.randn(heads, tokens, head_dim, generator=generator, device=device).to(dtype)
        for tokens in (n, m, m)
    )
    keep = torch.rand(m, generator=generator, device=device) >= STALE
    turn = Turn(torch.arange(m - 17, m - 17 + n, device=device), frequencies(head_dim, THETA, device))

    def launches(kernel: Kernel) -> None:
        for _ in range(LAUNCHES):
            kernel(q, keys, values, keep, turn)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    def seconds(kernel: Kernel) -> float:
        return timed(partial(launches, kernel)) / LAUNCHES

    found = turns(repeats, **{name: partial(seconds, kernel) for name, kernel in KERNELS.items()})
    return Row(n, m, found, 4 * heads * n * m * head_dim / min(found.values()) / 1e12)


def report(rows: Iterable[Row], about: dict[str, object]) -> None:
    """A table, then one line of JSON."""
    table = Table("n", "m", *(f"{name}, ms" for name in KERNELS), "TFLOP/s", "triton by flex")
    kept = []
    for row in rows:
        kept.append(asdict(row))
        times = (f"{row.seconds[name] * 1e3:.3f}" for name in KERNELS)
        gain = f"{row.seconds['flex'] / row.seconds['triton']:.2f}x"
        table.add_row(str(row.n), str(row.m), *times, f"{row.tflops:.1f}", gain)
    Console(width=110).print(table)
    print(json.dumps({**about, "rows": kept}))


def main(
    heads: Annotated[int, typer.Option(help="Query heads, and as many KV heads.")] = 32,
    head_dim: Annotated[int, typer.Option(help="Elements of a head.")] = 128,
    dtype: Annotated[str, typer.Option(help="bfloat16, float16 or float32.")] = "bfloat16",
    repeats: Annotated[int, typer.Option(help="Rounds that count.")] = 7,
) -> None:
    """Measure and print."""
    if not torch.cuda.is_available():
        typer.echo("no CUDA device: the kernels compared here run on a GPU alone", err=True)
        raise typer.Exit(2)
    device = torch.device("cuda", torch.cuda.current_device())
    shapes = [(n, m) for n in (64, 256, 1024, 2048) for m in (512, 2048, 8192)]
    rows = [measure(n, m, heads, head_dim, getattr(torch, dtype), device, repeats) for n, m in shapes]
    about: dict[str, object] = {"device": torch.cuda.get_device_name(device), "dtype": dtype, "heads": heads}
    report(rows, {**about, "head_dim": head_dim, "stale": STALE, "repeats": repeats})


if __name__ == "__main__":
    typer.run(main)
