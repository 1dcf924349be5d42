"""Every family from its folder to an answer, through the public path."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from engine.asks import RIVER, TOWN, ask_about, check_sums
from engine.tiny_checkpoint import write_checkpoint

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, LoadedModel, Request, load
from ragcache.engine.loaded_model import load_predictor
from ragcache.model.catalog import NANO
from ragcache.model.checkpoint import save_model
from ragcache.prompt import Affix, Prompt
from ragcache.registry import Registry
from ragcache.reuse.policy import Full, ReusePolicy, parse_policy
from reference.fast_path import Fast
from reference.tiny import FAMILIES, random_ids

OPTIONS = DecodingOptions(max_tokens=10)


@pytest.fixture(scope="module", params=["gqa-bias", *FAMILIES])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = write_checkpoint(tmp_path_factory.mktemp(request.param), kind=request.param)
    return load(str(folder), device="cpu")


def requests(budget: float) -> list[Request]:
    return [
        ask_about(*texts, options=OPTIONS, budget=budget)
        for texts in ((RIVER,), (RIVER, TOWN), (TOWN, RIVER, TOWN))
    ]


def test_warm_equals_cold_and_a_batch_equals_one_by_one(model: LoadedModel, store: Path) -> None:
    with Registry(store) as registry, Engine(model, registry) as engine:
        cold = [engine.submit(request).result() for request in requests(0.3)]
        warm = engine.generate(requests(0.3))
    assert [one.token_ids for one in warm] == [one.token_ids for one in cold]
    assert all(use.status == "hit" for one in warm for use in one.reuse.affixes)
    for one in warm:
        check_sums(one, one.reuse.prompt_tokens)
        assert model.predictor.config.mask_id not in one.token_ids


def test_a_budget_of_one_is_a_full_recompute(model: LoadedModel) -> None:
    with Engine(model) as engine:
        reused = engine.generate(requests(1.0))
        full = engine.generate([Request(one.prompt, OPTIONS, policy=Full) for one in requests(0.0)])
    assert [one.token_ids for one in reused] == [one.token_ids for one in full]


@pytest.mark.parametrize("budget", [0.0, 0.3, 1.0])
def test_an_affix_directly_before_the_canvas(model: LoadedModel, budget: float) -> None:
    prompt = Prompt.plain("How long is the river? ", Affix("river", RIVER.strip()))
    with Engine(model) as engine:
        got, full = engine.generate(
            [Request(prompt, OPTIONS, policy=policy) for policy in (ReusePolicy(budget), Full)]
        )
    check_sums(got, got.reuse.prompt_tokens)
    [use] = got.reuse.affixes
    assert use.start + use.tokens == got.reuse.prompt_tokens  # nothing stands between
    if budget == 0.0:
        assert use.anchors == int(
            model.predictor.config.logits_shift
        )  # its last row predicts the first token
    if budget == 1.0:
        assert got.token_ids == full.token_ids


def test_a_prefix_of_a_block_causal_model_is_reused_exactly(model: LoadedModel) -> None:
    prompt = Prompt.plain(Affix("river", RIVER), Affix("town", TOWN), "How long is the river?")
    first = Prompt.plain(Affix("river", RIVER), "How long is the river?")
    with Engine(model) as engine:
        for asked in (first, prompt):
            got, full = engine.generate(
                [
                    Request(asked, OPTIONS, policy=policy, keep_logits=True)
                    for policy in (ReusePolicy(0.0), Full)
                ]
            )
            assert got.first_logits is not None
            assert full.first_logits is not None
            gap = float((got.first_logits - full.first_logits).abs().max())
            exact = model.predictor.config.causal_block > 0 and asked is first
            assert (gap < 1e-4) == exact
            if exact:
                assert got.token_ids == full.token_ids
                block = model.predictor.config.causal_block
                assert got.reuse.affixes[0].anchors == got.reuse.affixes[0].tokens % block


def test_behind_the_system_prompt_a_contextual_page_of_a_block_causal_model_is_exact(
    model: LoadedModel,
) -> None:
    prompt = Prompt.user(Affix("river", RIVER), "How long is the river?", system="Answer from the text.")
    if not model.predictor.config.causal_block:
        pytest.skip("attention is bidirectional")
    with Engine(model) as engine:
        direct, contextual, full = engine.generate(
            [
                Request(prompt, OPTIONS, policy=parse_policy(policy), keep_logits=True)
                for policy in ("direct", "direct+contextual", "full")
            ]
        )
    torch.testing.assert_close(contextual.first_logits, full.first_logits, atol=1e-4, rtol=0)
    assert contextual.token_ids == full.token_ids
    assert contextual.reuse.reused > 0
    assert direct.first_logits is not None
    assert full.first_logits is not None
    assert float((direct.first_logits - full.first_logits).abs().max()) > 1e-3


def flooding(folder: Path) -> LoadedModel:
    """A model that is sure of EOS everywhere, and of one other token after it."""
    model = load(str(write_checkpoint(folder)), device="cpu")
    rows, eos = model.predictor.config.embedding_rows, model.predictor.config.eos_id
    logits = torch.zeros(rows)
    logits[eos], logits[40] = 90.0, 60.0
    model.predictor.logits = lambda hidden: logits.repeat(len(hidden), 1)  # type: ignore[method-assign]
    return model


def test_a_model_whose_eos_floods_stops_after_a_block(tmp_path: Path) -> None:
    with Engine(flooding(tmp_path)) as engine:
        prompt = "How long is the river?"
        flooded = engine.submit(Request(prompt, DecodingOptions(32, 8))).result()
        held = engine.submit(Request(prompt, DecodingOptions(32, 8, min_tokens=8))).result()
    assert (flooded.token_ids, flooded.finish_reason, flooded.forwards) == ((), "stop", 1)
    assert (held.token_ids, held.finish_reason) == ((40,) * 8, "stop")
    assert held.forwards == 8 + 1  # what it would rather not say it says one by one; the flood ends block 2


def test_nano_saved_as_llada_and_reloaded_gives_equal_logits(tmp_path: Path) -> None:
    nano = load_predictor("nano", device="cpu", dtype="bf16")
    save_model(nano, tmp_path, shard_bytes=2**22)
    for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        if (NANO / file).exists():
            shutil.copy(NANO / file, tmp_path)
    again = load(str(tmp_path), device="cpu", dtype="bf16")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    assert again.predictor.config == nano.config
    ids = random_ids(40, 1, vocabulary=nano.config.embedding_rows)
    assert torch.equal(Fast(again.predictor).logits(ids), Fast(nano).logits(ids))
