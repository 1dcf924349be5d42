"""Every kernel of this machine against the plain one."""

from __future__ import annotations

import pytest
import torch
from model.random_kv import normal
from torch import Tensor

from ragcache.model.kernels import cpu_flash, plain
from ragcache.model.kernels.choice import KERNELS, Kernel, kernel_for

CPU = torch.device("cpu")
FAST = [cpu_flash.attend]


def made(kv_heads: int, rows: int, columns: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    """Queries `[4, rows, 8]` that lie row by row, as a projection leaves them; keys and values."""
    q = normal(rows, 4, 8, seed=1).transpose(0, 1)
    return tuple(t.to(dtype) for t in (q, *normal(2, kv_heads, columns, 8, seed=2)))


def assert_same(kernel: Kernel, tensors: tuple[Tensor, ...], keep: Tensor | None, atol: float = 1e-5) -> None:
    q, keys, values = tensors
    wanted = plain.attend(q.float(), keys.float(), values.float(), keep)
    got = kernel(q, keys, values, keep)
    assert got.out.dtype == got.lse.dtype == torch.float32
    torch.testing.assert_close(got.out, wanted.out, atol=atol, rtol=0)
    torch.testing.assert_close(got.lse, wanted.lse, atol=atol, rtol=0)


def masks(rows: int, columns: int) -> dict[str, Tensor | None]:
    """No mask, one for all rows, one a row with rows that see nothing, one that hides everything."""
    generator = torch.Generator().manual_seed(3)
    keep = torch.rand(rows, columns, generator=generator) > 0.4
    keep[1:3] = False
    return {
        "none": None,
        "columns": torch.rand(columns, generator=generator) > 0.4,
        "rows": keep,
        "nothing": torch.zeros(columns, dtype=torch.bool),
    }


@pytest.mark.parametrize("mask", masks(1, 1))
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("kernel", FAST)
def test_kernels_equal_the_plain_one(kernel: Kernel, kv_heads: int, mask: str) -> None:
    assert_same(kernel, made(kv_heads, 7, 20), masks(7, 20)[mask])


@pytest.mark.parametrize("mask", masks(1, 1))
@pytest.mark.parametrize("kernel", FAST)
def test_bf16_stays_near_fp32(kernel: Kernel, mask: str) -> None:
    assert_same(kernel, made(2, 7, 20, torch.bfloat16), masks(7, 20)[mask], atol=0.03)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kernel", FAST)
def test_columns_may_be_hidden_over_whole_tiles(kernel: Kernel, dtype: torch.dtype) -> None:
    keep = torch.ones(40, 1200, dtype=torch.bool)
    keep[:20, :900] = False  # the first tile is empty for these rows
    keep[20:30] = False
    assert_same(kernel, made(2, 40, 1200, dtype), keep, atol=1e-5 if dtype == torch.float32 else 0.03)


@pytest.mark.parametrize(("rows", "columns"), [(0, 5), (3, 0), (0, 0)])
@pytest.mark.parametrize("kernel", [*FAST, plain.attend])
def test_no_rows_and_no_columns(kernel: Kernel, rows: int, columns: int) -> None:
    part = kernel(*made(2, rows, columns), None)
    assert torch.equal(part.out, torch.zeros(4, rows, 8))
    assert torch.equal(part.lse, torch.full((4, rows), float("-inf")))


def test_the_choice_falls_back_to_the_plain_kernel() -> None:
    assert kernel_for(CPU, torch.bfloat16) is cpu_flash.attend
    assert kernel_for(CPU, torch.float8_e4m3fn) is plain.attend
    assert kernel_for(torch.device("meta"), torch.float32) is plain.attend
    assert {kernel for _, _, kernel in KERNELS} >= set(FAST)
