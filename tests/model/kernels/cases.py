"""Inputs that every attention kernel must agree on with the plain implementation, and how far it is off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.model.kernels import plain
from ragcache.model.kernels.plain import Partial
from ragcache.model.rope import Turn, angles, frequencies, rotate

THETA = 10_000.0
# Largest difference of an output and of a log-sum-exp: rounding of the queries, weights and products
TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
Attend = Callable[..., Partial]


@dataclass(frozen=True)
class Case:
    """`keep`: all, some or no columns (none); `by row` a mask for each row; the second sees nothing.

    `rotary` elements of the queries are turned by position minus `offset`; 0 turns nothing. `runs` is for
    kernels that cut the columns into parts.
    """

    name: str
    heads: int = 4
    kv_heads: int = 2
    n: int = 5
    m: int = 19
    dim: int = 8
    keep: str = "all"
    rotary: int = 0
    offset: int = 0
    runs: int | None = None
    dtype: torch.dtype = torch.float32


HALF, BRAIN = torch.float16, torch.bfloat16
CASES = (
    Case("mha", kv_heads=4),
    Case("gqa"),
    Case("mqa", kv_heads=1),
    Case("one row", n=1),
    Case("one column", m=1),
    Case("no row", n=0, rotary=8),
    Case("no column", m=0),
    Case("odd head", dim=12, rotary=6),
    Case("d64", dim=64, keep="some", n=16, m=32),
    Case("d128", dim=128, keep="by row", rotary=128, offset=700, m=40),
    Case("stale columns", keep="some"),
    Case("nothing kept", keep="none"),
    Case("mask by row", keep="by row"),
    Case("turned", rotary=8, offset=3),
    Case("turned far", rotary=8, offset=-4000, keep="some"),
    Case("partial rotary", rotary=4, offset=40),
    Case("many tiles", n=70, m=150, keep="by row", rotary=8, offset=9),
    Case("runs", n=20, m=150, keep="by row", runs=4),
    Case("runs of nothing", m=150, keep="none", runs=2),
    Case("bf16", dim=64, keep="some", rotary=64, offset=5, dtype=BRAIN),
    Case("fp16", dim=64, keep="some", rotary=64, offset=5, dtype=HALF),
)
BY_NAME = {case.name: case for case in CASES}


@dataclass(frozen=True)
class Inputs:
    """What a kernel is given. Queries are a transposed view, keys and values parts of larger buffers."""

    q: Tensor
    keys: Tensor
    values: Tensor
    keep: Tensor | None
    turn: Turn | None


@dataclass(frozen=True)
class Difference:
    """From plain attention: the largest of `out` and `lse`; whether the same rows see nothing, and fp32."""

    out: float
    lse: float
    same_unseen: bool
    fp32: bool

    def within(self, tolerance: float) -> bool:
        """NaN is in no tolerance."""
        return self.out <= tolerance and self.lse <= tolerance and self.same_unseen and self.fp32


def inputs(case: Case, device: str = "cpu", dtype: torch.dtype | None = None) -> Inputs:
    """Normal random numbers; positions are neither sorted nor without gaps."""
    generator = torch.Generator().manual_seed(7)
    spare = 3
    q = torch.randn(case.n, case.heads, case.dim, generator=generator)
    buffers = torch.randn(2, case.kv_heads, case.m + spare, case.dim, generator=generator)
    by_row = torch.rand(case.n, case.m, generator=generator) < 0.7
    by_row[1:2] = False
    some = torch.rand(case.m, generator=generator) < 0.7
    mask = {"all": None, "some": some, "none": torch.zeros_like(some), "by row": by_row}[case.keep]
    positions = torch.randperm(4 * case.n + 1, generator=generator)[: case.n]
    keys, values = buffers.to(device, dtype or case.dtype)[:, :, : case.m]
    turning = frequencies(case.rotary, THETA, torch.device("cpu"))  # as `plain` has them, to the bit
    return Inputs(
        q.to(device, dtype or case.dtype).transpose(0, 1),
        keys,
        values,
        None if mask is None else mask.to(device),
        Turn((positions - case.offset).to(device), turning.to(device)) if case.rotary else None,
    )


def reference(given: Inputs) -> Partial:
    """In fp32 on the CPU, on the same rounded inputs."""
    q = given.q.cpu()
    if given.turn is not None:
        turn = angles(given.turn.distances.cpu(), 2 * len(given.turn.frequencies), THETA)
        q = rotate(q.transpose(0, 1), *turn).transpose(0, 1)
    keep = None if given.keep is None else given.keep.cpu()
    return plain.attend(q.float(), given.keys.cpu().float(), given.values.cpu().float(), keep)


def difference(attend: Attend, given: Inputs, **options: int | None) -> Difference:
    """Of what `attend` makes of the inputs."""
    found = attend(given.q, given.keys, given.values, given.keep, given.turn, **options)
    wanted = reference(given)
    out, lse = found.out.cpu(), found.lse.cpu()
    unseen = wanted.lse.isneginf()
    return Difference(
        out=_largest(out - wanted.out),
        lse=_largest((lse - wanted.lse)[~unseen]),
        same_unseen=torch.equal(lse.isneginf(), unseen) and not out[unseen].any(),
        fp32=(found.out.dtype, found.lse.dtype) == (torch.float32, torch.float32),
    )


def _largest(x: Tensor) -> float:
    return float(x.abs().max()) if x.numel() else 0.0
