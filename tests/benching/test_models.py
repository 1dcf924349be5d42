"""Models to bench: of a wished size, with a tokenizer, and never done early."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ragcache.benching.models import load_model, never_stops
from ragcache.benching.words import Words
from ragcache.benching.workloads import DocQA
from ragcache.errors import ConfigError, UnknownModelError
from ragcache.model.catalog import find_checkpoint
from ragcache.model.random_weights import parameter_count
from ragcache.prompt import ChatTokenizer, tokenize


def test_random_weights_come_in_bf16_with_nanos_tokenizer() -> None:
    model = load_model("random:4m", device="cpu")
    assert (model.name, model.dtype) == ("random:4m", "bf16")
    assert model.stop_ids == {model.predictor.config.eos_id}
    assert parameter_count(model.predictor) == pytest.approx(4e6, rel=0.1)
    assert model.tokenizer.vocab_size < model.predictor.config.eos_id
    assert load_model("random:4m", device="cpu", dtype="fp32").predictor.dtype == torch.float32


def test_what_is_timed_does_not_stop(checkpoint: Path) -> None:
    model = load_model(str(checkpoint), device="cpu")
    assert model.stop_ids
    assert never_stops(model).stop_ids == frozenset()


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(UnknownModelError, match="random:enormous is no size"):
        load_model("random:enormous")
    with pytest.raises(ConfigError, match="cannot compute random weights in int8"):
        load_model("random:4m", device="cpu", dtype="int8")


def test_a_default_prompt_is_exactly_4096_tokens_to_nanos_tokenizer() -> None:
    tokenizer = ChatTokenizer.from_folder(find_checkpoint("nano"))
    first, second = (tokenize(prompt, tokenizer) for prompt in DocQA().ask(Words.of(tokenizer), 2).prompts)
    for prompt in (first, second):
        assert prompt.tokens == 4096
        assert (len(prompt.spans), sum(span.tokens for span in prompt.spans)) == (8, 3686)
    assert [span.start for span in first.spans] != [span.start for span in second.spans]
