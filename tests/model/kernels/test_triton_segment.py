"""The Triton kernel equals plain attention: here in Triton's interpreter, in `test_on_cuda.py` on a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from model.kernels.cases import BY_NAME, TOLERANCE, Difference

from ragcache.errors import MissingDependencyError
from ragcache.model import kernels
from ragcache.model.kernels.plain import attend as plain
from ragcache.model.kernels.triton_segment import Tiles, attend, fitting_runs, joined

TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def differences() -> dict[str, Difference]:
    """Of all cases, by name."""
    if find_spec("triton") is None:
        pytest.skip("triton is not installed")
    paths = os.pathsep.join(filter(None, (str(TESTS.parent), str(TESTS), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "model.kernels.interpreted"],
        env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {name: Difference(**found) for name, found in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_kernel_equals_plain_attention(name: str, differences: dict[str, Difference]) -> None:
    found = differences[name]
    assert found.within(TOLERANCE[BY_NAME[name].dtype]), found


def test_without_triton_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ragcache.model.kernels.triton_kernel", raising=False)
    monkeypatch.delattr(kernels, "triton_kernel", raising=False)
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragcache-dllm\[triton\]'"):
        attend(*torch.zeros(3, 1, 1, 8))


@pytest.mark.parametrize(
    ("rows", "head_dim", "item_bytes", "wanted"),
    [
        (2048, 128, 2, Tiles(32, 64, 64, 128)),
        (32, 128, 2, Tiles(1, 32, 64, 128)),
        (33, 128, 4, Tiles(2, 32, 32, 128)),
        (1, 8, 4, Tiles(1, 16, 64, 16)),
        (64, 80, 2, Tiles(1, 64, 64, 128)),
        (64, 512, 4, Tiles(4, 16, 16, 512)),
        (0, 64, 2, Tiles(0, 16, 64, 64)),
    ],
)
def test_tiles_are_powers_of_two_that_fit(rows: int, head_dim: int, item_bytes: int, wanted: Tiles) -> None:
    assert Tiles.of(rows, head_dim, item_bytes) == wanted


@pytest.mark.parametrize(
    ("programs", "columns", "processors", "wanted"),
    [(32, 8192, 132, 4), (32, 1024, 132, 2), (32, 300, 132, 1), (1024, 8192, 132, 1), (0, 8192, 4, 4)],
)
def test_columns_are_cut_only_to_fill_the_device(
    programs: int, columns: int, processors: int, wanted: int
) -> None:
    assert fitting_runs(programs, columns, processors) == wanted


def test_joined_parts_are_one_attention_and_unseen_rows_stay_unseen() -> None:
    q, keys, values = torch.randn(3, 2, 9, 8, generator=torch.Generator().manual_seed(0))
    keep = torch.ones(9, 9, dtype=torch.bool)
    keep[4] = False
    keep[5, :6] = False
    cuts = slice(0, 6), slice(6, 9)
    parts = [plain(q, keys[:, cut], values[:, cut], keep[:, cut]) for cut in cuts]
    found = joined(torch.stack([part.out for part in parts]), torch.stack([part.lse for part in parts]))
    wanted = plain(q, keys, values, keep)
    torch.testing.assert_close(found.out, wanted.out, atol=1e-6, rtol=0)
    torch.testing.assert_close(found.lse, wanted.lse, atol=1e-6, rtol=0)
    assert found.lse[:, 4].isneginf().all()
