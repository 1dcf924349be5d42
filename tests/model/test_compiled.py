"""Compiled layers: the same numbers, no compiling in the middle of serving, and no compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from ragcache.errors import MissingDependencyError
from ragcache.model.attention import GatherKV
from ragcache.model.compiled import compile_layers, is_compiled
from ragcache.model.ragged import RaggedKV
from ragcache.model.rows import Rows
from ragcache.model.transformer import MaskPredictor
from reference.compiler import needs_compiler
from reference.tiny import KINDS, random_ids, tiny_model

ROWS = (1, 2, 40)
# as many heads as a common number of rows: sizes that are equal must not be taken for one
SHAPES = {**KINDS, "16 heads": replace(KINDS["gqa-bias"], heads=16)}


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def logits(model: MaskPredictor, count: int) -> Tensor:
    ids = torch.tensor(random_ids(count, 3), device=model.device)
    kv = GatherKV(model.config, len(ids), (), model.dtype, model.device)
    with torch.inference_mode():
        rows = Rows.single(ids, torch.arange(len(ids), device=ids.device))
        return model.logits(model(rows, RaggedKV([kv])))


@needs_compiler
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("kind", ["gqa-bias", "llada2", "16 heads"])
def test_compiled_layers_differ_by_rounding_for_any_number_of_rows(kind: str, device: str) -> None:
    eager, compiled = (tiny_model(replace(SHAPES[kind], layers=2)).to(device) for _ in range(2))
    compile_layers(compiled)
    assert is_compiled(compiled)
    assert not is_compiled(eager)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for count in ROWS:
            torch.testing.assert_close(logits(compiled, count), logits(eager, count), atol=1e-4, rtol=1e-4)


def fails(function: Callable[..., Any], **options: object) -> Callable[..., Any]:
    def call(*inputs: Tensor) -> Any:
        raise RuntimeError("no C++ compiler\nand many more lines")

    return call


def test_without_a_compiler_the_layers_stay_and_the_error_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny_model()
    before = logits(model, 5)
    monkeypatch.setattr(torch, "compile", fails)
    with pytest.raises(MissingDependencyError, match=r"no C\+\+ compiler\. It needs .*g\+\+") as caught:
        compile_layers(model)
    assert "many more lines" not in str(caught.value)
    assert not is_compiled(model)
    assert torch.equal(logits(model, 5), before)


@needs_compiler
def test_compiling_twice_is_compiling_once() -> None:
    model = tiny_model()
    compile_layers(model)
    once = [module.heads_of for module in model.layers]
    compile_layers(model)
    assert [module.heads_of for module in model.layers] == once
