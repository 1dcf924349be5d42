"""The kernels' benchmark, with plain attention in every kernel's place; and what it does without a GPU."""

from __future__ import annotations

import json

import pytest
import torch
import typer

from benchmarks import kernels


def test_without_a_gpu_it_says_so_and_exits_with_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(typer.Exit) as ended:
        kernels.main()
    assert ended.value.exit_code == 2
    assert "no CUDA device" in capsys.readouterr().err


def test_every_kernel_gets_the_same_and_the_last_line_holds_every_figure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def spy(*given):
        asked.append(given)
        return kernels.plain.attend(*given)

    monkeypatch.setattr(kernels, "KERNELS", dict.fromkeys(kernels.KERNELS, spy))
    monkeypatch.setattr(kernels, "LAUNCHES", 2)
    row = kernels.measure(3, 10, 2, 8, torch.float32, torch.device("cpu"), repeats=1)
    assert len(asked) == 2 * 2 * len(kernels.KERNELS)
    assert all(one is other for given in asked for one, other in zip(given, asked[0], strict=True))
    kernels.report([row], {"device": "none"})
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["device"] == "none"
    assert [(r["n"], r["m"]) for r in found["rows"]] == [(3, 10)]
    assert found["rows"][0]["seconds"].keys() == kernels.KERNELS.keys()
    assert min(found["rows"][0]["seconds"].values()) > 0
