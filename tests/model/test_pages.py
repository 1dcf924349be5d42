"""Affix encoding: oracles 1 and 3, and the reference."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ragcache.decoding.encode import encode_affixes
from ragcache.model.attention import GatherKV
from ragcache.model.checkpoint import save_model
from ragcache.model.ragged import RaggedKV
from ragcache.model.recorder import PageRecorder
from ragcache.model.rows import Rows
from ragcache.model.transformer import MaskPredictor
from ragcache.page import Page
from reference.families import reference_model
from reference.generate import encode
from reference.tiny import KINDS, random_ids, tiny_model

AFFIX = random_ids(12, 3)


def full_forward(model: MaskPredictor, ids: list[int]) -> Page:
    """K before RoPE and V of every token of a prompt."""
    recorder = PageRecorder()
    kv = GatherKV(model.config, len(ids), (), model.dtype, model.device)
    model(Rows.single(torch.tensor(ids), torch.arange(len(ids))), RaggedKV([kv], [recorder]))
    return recorder.page(torch.tensor(ids))


@pytest.mark.parametrize("kind", KINDS)
def test_layer_0_depends_on_the_token_alone_bit_for_bit(kind: str) -> None:
    model = tiny_model(KINDS[kind])
    before, after = random_ids(9, 4), random_ids(6, 5)
    one = full_forward(model, [*before, *AFFIX, *after])
    other = full_forward(model, [*after, *AFFIX, *before])
    assert torch.equal(one.keys[0][:, 9:21], other.keys[0][:, 6:18])
    assert torch.equal(one.values[0][:, 9:21], other.values[0][:, 6:18])


@pytest.mark.parametrize("kind", KINDS)
def test_layer_0_equals_the_full_forward_and_deeper_layers_are_stale(kind: str) -> None:
    model = tiny_model(KINDS[kind])
    page = encode_affixes(model, [AFFIX])[0]
    full = full_forward(model, [*random_ids(9, 4), *AFFIX, *random_ids(6, 5)])
    # the same dot products, bit for bit unless the matmul sums in another order for another number of rows
    torch.testing.assert_close(page.keys[0], full.keys[0][:, 9:21], atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(page.values[0], full.values[0][:, 9:21], atol=1e-6, rtol=1e-6)
    assert (page.values[1] - full.values[1][:, 9:21]).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_page_equals_the_reference(kind: str, tmp_path: Path) -> None:
    model = tiny_model(KINDS[kind])
    save_model(model, tmp_path)
    page = encode_affixes(model, [AFFIX])[0]
    assert page.token_ids.tolist() == AFFIX
    assert page.keys[0].shape == (model.config.kv_heads, 12, model.config.head_dim)
    for layer, columns in enumerate(encode(reference_model(tmp_path), AFFIX)):
        for index, (key, value) in columns.items():
            for got, wanted in ((page.keys, key), (page.values, value)):
                torch.testing.assert_close(
                    got[layer][:, index].double(), torch.from_numpy(wanted), atol=1e-4, rtol=0
                )


def test_affixes_encoded_jointly_do_not_see_each_other() -> None:
    model = tiny_model()
    affixes = [AFFIX, random_ids(1, 6), random_ids(20, 7)]
    for together, ids in zip(encode_affixes(model, affixes), affixes, strict=True):
        alone = encode_affixes(model, [ids])[0]
        for one, other in zip(together.keys + together.values, alone.keys + alone.values, strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["gqa", "mqa"])
def test_a_page_owns_its_memory(kind: str) -> None:
    model = tiny_model(KINDS[kind])
    for page in encode_affixes(model, [AFFIX, random_ids(1, 6)]):
        for tensor in (*page.keys, *page.values):
            assert tensor.is_contiguous()
            assert tensor.untyped_storage().nbytes() == tensor.numel() * 4
