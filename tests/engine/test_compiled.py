"""An engine with compiled layers: the same answers whatever the policy, compiled before the first request."""

from __future__ import annotations

from pathlib import Path

import torch
from engine.asks import RIVER, TOWN, ask_with
from torch._dynamo.utils import counters

from ragcache.engine import EngineOptions, LoadedModel, load
from ragcache.model.compiled import is_compiled
from ragcache.registry import Registry
from reference.compiler import needs_compiler

POLICIES = ("full", "direct", "qa@0.2", "acache@0.2", "depth=1+qa@0.3", "blend@0.2")


def graphs() -> int:
    """How many torch.compile has made so far."""
    return int(counters["stats"]["unique_graphs"])


@needs_compiler
def test_answers_are_those_of_eager_layers_and_nothing_is_compiled_while_serving(
    checkpoint: Path, model: LoadedModel, registry: Registry
) -> None:
    torch._dynamo.reset()
    requests = [ask_with(policy, RIVER, TOWN, codec="raw") for policy in POLICIES]
    with EngineOptions().engine(model, registry) as eager:
        expected = [eager.generate([request])[0].token_ids for request in requests]
    own = load(str(checkpoint), device="cpu")
    with EngineOptions(compiled=True).engine(own, registry) as compiled:
        assert is_compiled(own.mask_predictor)
        assert not is_compiled(model.mask_predictor)
        before = graphs()
        answers = [answer.token_ids for answer in compiled.generate([*requests, *reversed(requests)])]
        assert graphs() == before > 0
    assert answers == [*expected, *reversed(expected)]
