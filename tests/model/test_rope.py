from __future__ import annotations

import pytest
import torch

from ragcache.model.rope import angles, rotate
from reference.llada import rope as plain_rope

THETA = 10000.0


def turned(x: torch.Tensor, position: int) -> torch.Tensor:
    return rotate(x, *angles(torch.tensor([position]), x.shape[-1], THETA))


def test_same_as_the_plain_formula() -> None:
    x = torch.randn(5, 2, 8, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([0, 1, 7, 100, 250])
    fast = rotate(x, *angles(positions, 8, THETA))
    for row, position in enumerate(positions.tolist()):
        plain = torch.from_numpy(plain_rope(x[row].double().numpy(), position, THETA))
        torch.testing.assert_close(fast[row].double(), plain, atol=2e-5, rtol=0)


@pytest.mark.parametrize("shift", [-40, 3, 1000])
def test_scores_depend_on_distance_alone(shift: int) -> None:
    q, k = torch.randn(2, 1, 1, 16, generator=torch.Generator().manual_seed(1))
    here = (turned(q, 30) * turned(k, 11)).sum()
    there = (turned(q, 30 + shift) * turned(k, 11 + shift)).sum()
    torch.testing.assert_close(here, there, atol=1e-3, rtol=0)
    assert abs(here - (turned(q, 31) * turned(k, 11)).sum()) > 1e-2


def test_position_zero_changes_nothing_and_minus_p_undoes_p() -> None:
    x = torch.randn(1, 2, 8, generator=torch.Generator().manual_seed(2))
    assert torch.equal(turned(x, 0), x)
    torch.testing.assert_close(turned(turned(x, 17), -17), x, atol=1e-6, rtol=1e-5)


def test_computes_in_fp32_and_keeps_the_dtype() -> None:
    x = torch.randn(1, 2, 8, generator=torch.Generator().manual_seed(3)).bfloat16()
    cos, sin = angles(torch.tensor([5]), 8, THETA)
    assert cos.dtype == sin.dtype == torch.float32
    assert torch.equal(rotate(x, cos, sin), rotate(x.float(), cos, sin).bfloat16())
