"""On a GPU both kernels, compiled, equal plain attention."""

from __future__ import annotations

import pytest
import torch
from model.kernels.cases import CASES, TOLERANCE, Case, difference, inputs

from ragcache.model.kernels import flex, triton_segment

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
DTYPES = [torch.bfloat16, torch.float16]


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float32], ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_triton(case: Case, dtype: torch.dtype) -> None:
    pytest.importorskip("triton")
    found = difference(triton_segment.attend, inputs(case, "cuda", dtype), runs=case.runs)
    assert found.within(TOLERANCE[dtype]), found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", [case for case in CASES if case.dim >= 16], ids=lambda case: case.name)
def test_flex_attention(case: Case, dtype: torch.dtype) -> None:
    found = difference(flex.attend, inputs(case, "cuda", dtype))
    assert found.within(TOLERANCE[dtype]), found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_triton_cuts_long_columns_by_itself(dtype: torch.dtype) -> None:
    pytest.importorskip("triton")
    case = Case("refine", heads=8, kv_heads=8, n=32, m=8000, dim=128, keep="some", rotary=128, offset=4000)
    found = difference(triton_segment.attend, inputs(case, "cuda", dtype))
    assert found.within(TOLERANCE[dtype]), found
