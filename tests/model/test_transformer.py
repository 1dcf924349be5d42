"""The one forward against the plain reference, and what it promises about rows, batches and offsets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ragcache.model.attention import GatherKV
from ragcache.model.checkpoint import load_model, save_model
from ragcache.model.ragged import RaggedKV
from ragcache.model.rows import Rows
from ragcache.model.transformer import MaskPredictor
from reference.families import reference_model
from reference.fast_path import BACKENDS, Fast, backend_named
from reference.tiny import CONFIGS, FAMILIES, KINDS, random_ids, tiny_model

IDS = random_ids(30, 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", [*KINDS, "tied"])
def test_logits_equal_the_reference(kind: str, backend: str, tmp_path: Path) -> None:
    model = tiny_model(KINDS.get(kind, replace(CONFIGS["gqa"], tied_head=True)))
    save_model(model, tmp_path)
    wanted = torch.from_numpy(reference_model(tmp_path).forward(IDS)).float()
    got = Fast(model, backend_named(backend)).logits(IDS)
    torch.testing.assert_close(got, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["gqa-bias", *FAMILIES])
def test_moving_the_whole_prompt_changes_no_logits(kind: str, backend: str) -> None:
    fast = Fast(tiny_model(KINDS[kind]), backend_named(backend))
    here, there = (
        fast.logits(IDS),
        fast.logits(IDS, first_position=36),
    )  # whole blocks of a block-causal model
    assert (here - there).abs().max() < 1e-5 * here.abs().max()


def kv_of(model: MaskPredictor, tokens: int) -> GatherKV:
    return GatherKV(model.config, tokens, (), model.dtype, model.device)


def test_output_picks_rows_of_the_full_result() -> None:
    model = tiny_model()
    rows = Rows.single(torch.tensor(IDS), torch.arange(30))
    full = model(rows, RaggedKV([kv_of(model, 30)]))
    some = model(rows, RaggedKV([kv_of(model, 30)]), torch.tensor([29, 0, 4]))
    torch.testing.assert_close(some, full[[29, 0, 4]], atol=1e-6, rtol=1e-5)


def test_a_ragged_batch_equals_its_requests_alone() -> None:
    model = tiny_model()
    lists = [random_ids(n, n) for n in (5, 17, 1)]
    rows = Rows.join([Rows.single(torch.tensor(ids), torch.arange(len(ids))) for ids in lists])
    joint = model(rows, RaggedKV([kv_of(model, len(ids)) for ids in lists])).split([5, 17, 1])
    for ids, hidden in zip(lists, joint, strict=True):
        alone = Fast(model).logits(ids)
        torch.testing.assert_close(model.logits(hidden), alone, atol=1e-5, rtol=1e-5)


def test_attention_is_bidirectional() -> None:
    fast = Fast(tiny_model())
    changed = fast.logits([*IDS[:-1], (IDS[-1] + 1) % 50])
    assert (changed[0] - fast.logits(IDS)[0]).abs().max() > 1e-3


def test_rows_computed_later_see_what_earlier_rows_left() -> None:
    model = tiny_model()
    kv = kv_of(model, 30)
    positions = torch.arange(30)
    full = model(Rows.single(torch.tensor(IDS), positions), RaggedKV([kv]))
    again = model(Rows.single(torch.tensor(IDS[20:]), positions[20:]), RaggedKV([kv]))
    torch.testing.assert_close(again, full[20:], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_bf16_runs_and_is_close(backend: str, tmp_path: Path) -> None:
    save_model(tiny_model(), tmp_path)
    wide = Fast(load_model(tmp_path), backend_named(backend)).logits(IDS)
    half = Fast(load_model(tmp_path, dtype=torch.bfloat16), backend_named(backend)).logits(IDS)
    assert half.dtype == torch.bfloat16
    assert (half.float() - wide).abs().mean() < 0.1 * wide.abs().mean()
