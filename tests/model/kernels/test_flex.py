"""FlexAttention, not compiled, equals plain attention; its log-sum-exp is a natural one."""

from __future__ import annotations

import math

import pytest
import torch
from model.kernels.cases import BY_NAME, CASES, TOLERANCE, difference, inputs
from torch.nn.attention import flex_attention

from ragcache.model.kernels.flex import attend


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch has the switch, nothing is traced either: a trace for every shape takes seconds."""
    if hasattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"):
        monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@pytest.mark.parametrize("case", [case for case in CASES if case.runs is None], ids=lambda case: case.name)
def test_flex_attention_equals_plain_attention(case) -> None:
    found = difference(attend, inputs(case))
    assert found.within(TOLERANCE[case.dtype]), found


def test_the_logarithm_is_natural() -> None:
    part = attend(torch.zeros(1, 1, 8), torch.zeros(1, 5, 8), torch.zeros(1, 5, 8))
    assert part.lse.item() == pytest.approx(math.log(5))


def test_an_unseen_row_is_guarded_whatever_torch_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    given = inputs(BY_NAME["mask by row"])
    wrong = torch.ones(1, 4, 5, 8), torch.zeros(1, 4, 5)
    monkeypatch.setattr("ragcache.model.kernels.flex._attention", lambda compiled: lambda *args: wrong)
    part = attend(given.q, given.keys, given.values, given.keep)
    assert part.lse[:, 1].isneginf().all()
    assert not part.out[:, 1].any()
    assert (part.out[:, 0] == 1).all()
