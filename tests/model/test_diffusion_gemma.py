"""DiffusionGemma's network behind our face: pages are what transformers itself would have cached."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from ragcache.errors import CheckpointError, ConfigError, MissingDependencyError
from ragcache.model.checkpoint import Checkpoint, load_model
from ragcache.model.config_file import read_config
from ragcache.model.diffusion_gemma import CanvasHabits, DiffusionGemma, EncodedPrompt
from ragcache.model.segment import Segment
from ragcache.model.upstream import library
from ragcache.model.weights import SINGLE
from ragcache.page import Page
from reference.gemma import CANVAS, WINDOW, write_gemma

pytest.importorskip("transformers")

ROWS = 60
BEFORE, AFFIX = (7, 8, 9), tuple(range(10, 10 + 2 * WINDOW))
REST = (50, 51, 52, 53)
PROMPT = torch.tensor([*BEFORE, *AFFIX, *REST])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gemma(tmp_path_factory.mktemp("gemma"), ROWS)


@pytest.fixture(scope="module")
def model(folder: Path) -> DiffusionGemma:
    return Checkpoint.open(folder).load_network(torch.float32, torch.device("cpu"))


def at(page: Page, offset: int, tokens: int) -> Segment:
    return Segment(page, offset, torch.arange(page.tokens) < tokens)


def logits(model: DiffusionGemma, kv: EncodedPrompt, *without: range) -> Tensor:
    """Of a canvas behind the prompt; positions `without` are not computed."""
    read = torch.tensor([i for i in range(len(PROMPT)) if not any(i in served for served in without)])
    rows = torch.arange(CANVAS) + len(PROMPT)
    ids = torch.cat((PROMPT[read], torch.arange(CANVAS) + 20))
    return model.logits(torch.cat((read, rows)), ids, CANVAS, kv)


def test_a_page_is_what_the_library_caches_of_every_token(model: DiffusionGemma) -> None:
    [page] = model.pages([AFFIX], [BEFORE])
    cache = library().DynamicCache(config=model.network.config.get_text_config())
    with torch.inference_mode():
        model.network.model.encoder(input_ids=PROMPT[None, : len(BEFORE) + len(AFFIX)], cache=cache)
    assert page.token_ids.tolist() == list(AFFIX)
    assert [key.shape for key in page.keys] == [(2, len(AFFIX), 8), (2, len(AFFIX), 8), (1, len(AFFIX), 16)]
    assert page.size_bytes == model.kv_bytes(len(AFFIX))
    for layer, key, value in zip(cache.layers, page.keys, page.values, strict=True):
        held = WINDOW - 1 if layer.is_sliding else len(AFFIX)
        torch.testing.assert_close(key[:, -held:], layer.keys[0, :, -held:])
        torch.testing.assert_close(value[:, -held:], layer.values[0, :, -held:])


@pytest.mark.parametrize("kept", [len(AFFIX), len(AFFIX) - 3, 2])
def test_a_page_in_its_place_changes_no_logit(model: DiffusionGemma, kept: int) -> None:
    whole = logits(model, model.begin())
    right, wrong = model.pages([AFFIX, AFFIX], [BEFORE, ()])  # the second was encoded at the prompt's begin
    served = range(len(BEFORE), len(BEFORE) + kept)
    reused = logits(model, model.begin([at(right, len(BEFORE), kept)]), served)
    torch.testing.assert_close(reused, whole, atol=1e-5, rtol=1e-5)
    misplaced = logits(model, model.begin([at(wrong, len(BEFORE), kept)]), served)
    assert float((misplaced - whole).abs().max()) > 1e-3


def test_pages_one_after_another(model: DiffusionGemma) -> None:
    first, second = AFFIX[:5], AFFIX[7:]
    behind = (*BEFORE, *AFFIX[:7])
    pages = model.pages([first, second], [BEFORE, behind])
    for page, alone in zip(
        pages, [model.pages([first], [BEFORE]), model.pages([second], [behind])], strict=True
    ):
        torch.testing.assert_close(page.keys[2], alone[0].keys[2])
    placed = [at(pages[0], len(BEFORE), 5), at(pages[1], len(behind), len(second))]
    served = [range(one.offset, one.offset + one.page.tokens) for one in placed]
    got = logits(model, model.begin(placed), *served)
    torch.testing.assert_close(got, logits(model, model.begin()), atol=1e-5, rtol=1e-5)


def test_what_reads_a_page_leaves_it_as_it_is(model: DiffusionGemma) -> None:
    [page] = model.pages([AFFIX], [BEFORE])
    before = [tensor.clone() for tensor in (*page.keys, *page.values)]
    kv = model.begin([at(page, len(BEFORE), len(AFFIX))])
    for _ in range(2):
        logits(model, kv, range(len(BEFORE), len(BEFORE) + len(AFFIX)))
    assert all(torch.equal(*pair) for pair in zip((*page.keys, *page.values), before, strict=True))


def test_a_forward_may_be_repeated(model: DiffusionGemma) -> None:
    kv = model.begin()
    assert kv.size_bytes == 0
    assert torch.equal(logits(model, kv), logits(model, kv))
    assert kv.size_bytes > 0
    assert kv.read == len(PROMPT)


def test_what_failed_halfway_is_not_gone_on_with(model: DiffusionGemma) -> None:
    kv = model.begin()
    kv.cache.update(torch.zeros(1, 2, 4, 8), torch.zeros(1, 2, 4, 8), 0)
    with pytest.raises(RuntimeError, match="halfway"):
        logits(model, kv)


def test_the_config_is_read_by_the_library(model: DiffusionGemma, folder: Path) -> None:
    config = read_config(folder)
    assert (config.layers, config.family, config.answer_tokens(9)) == (3, "diffusion_gemma", 2 * CANVAS)
    assert config.kv_elements_per_token == 2 * (2 * 2 * 8 + 1 * 16)
    assert json.loads(config.rope)["style"] == "applied"
    assert model.habits == CanvasHabits(steps=5, ends=model.habits.ends)


def test_habits_are_the_files_own() -> None:
    said = {"t_max": 0.9, "sampler_config": {"entropy_bound": 0.3}, "eos_token_id": [1, 106], "t_min": None}
    assert CanvasHabits.of(said) == CanvasHabits(hottest=0.9, entropy_bound=0.3, ends=frozenset({1, 106}))


def edited(folder: Path, target: Path, **fields: object) -> Path:
    raw = json.loads((folder / "config.json").read_text())
    raw["text_config"].update(fields)
    (target / "config.json").write_text(json.dumps(raw))
    return target


def test_configs_that_cannot_be_used(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no prefix is exact"):
        read_config(edited(folder, tmp_path, use_bidirectional_attention="all"))
    with pytest.raises(CheckpointError, match="transformers cannot use it"):
        read_config(edited(folder, tmp_path, num_hidden_layers="many"))


def test_without_the_library_the_command_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ragcache-dllm\[gemma\]'"):
        read_config(folder)


def test_weights_that_do_not_fit_are_named(folder: Path, tmp_path: Path) -> None:
    """The library would make up what is missing."""
    edited(folder, tmp_path)
    tensors = load_file(folder / SINGLE)
    name = next(name for name in tensors if name.endswith("decoder.norm.weight"))
    value = tensors.pop(name)
    save_file(tensors, tmp_path / SINGLE)
    with pytest.raises(CheckpointError, match=f"missing: {name}"):
        Checkpoint.open(tmp_path)
    again = name.replace("decoder", "encoder.language_model")  # the same weight, under its other name
    save_file({**tensors, again: value}, tmp_path / SINGLE)
    assert name in Checkpoint.open(tmp_path).stored


def test_what_the_library_loads_is_neither_spread_nor_rounded(folder: Path) -> None:
    checkpoint, cpu = Checkpoint.open(folder), torch.device("cpu")
    with pytest.raises(ConfigError, match="int8"):
        checkpoint.load_network(torch.float32, cpu, int8=True)
    with pytest.raises(ConfigError, match="not spread over devices"):
        checkpoint.load_network(torch.float32, (cpu, cpu, torch.device("cuda:0")))
    with pytest.raises(ConfigError, match="ask it with ragcache ask"):
        load_model(folder)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_is_loaded_as_the_library_itself_would(folder: Path, dtype: torch.dtype) -> None:
    ours = Checkpoint.open(folder).load_network(dtype, torch.device("cpu"))
    theirs = library().DiffusionGemmaForBlockDiffusion.from_pretrained(folder, dtype=dtype)
    mine, wanted = ours.network.state_dict(), theirs.state_dict()
    assert {name: (t.dtype, t.shape) for name, t in mine.items()} == {
        name: (t.dtype, t.shape) for name, t in wanted.items()
    }
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in mine.items())
    buffers = dict(theirs.named_buffers())
    for name, buffer in ours.network.named_buffers():
        torch.testing.assert_close(buffer.to(buffers[name].dtype), buffers[name], atol=0, rtol=0)
    assert ours.network.generation_config.to_dict() == theirs.generation_config.to_dict()
    count = sum(parameter.numel() for parameter in theirs.parameters())
    assert sum(parameter.numel() for parameter in ours.network.parameters()) == count  # what is tied is one
    same = DiffusionGemma(ours.config, theirs.eval())
    assert torch.equal(logits(ours, ours.begin()), logits(same, same.begin()))


def test_the_weight_under_its_own_name_counts(folder: Path, tmp_path: Path) -> None:
    """A file may repeat it under another name; what that says is not looked at."""
    edited(folder, tmp_path)
    tensors = load_file(folder / SINGLE)
    name = next(name for name in tensors if name.endswith("decoder.norm.weight"))
    again = name.replace("decoder", "encoder.language_model")
    save_file({**tensors, again: torch.zeros_like(tensors[name])}, tmp_path / SINGLE)
    loaded = Checkpoint.open(tmp_path).load_network(torch.float32, torch.device("cpu"))
    assert torch.equal(loaded.network.get_parameter(again), tensors[name])


def test_habits_that_cannot_be_read_are_named_before_weights_are_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "_read", lambda *given: pytest.fail("weights were read"))
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "generation_config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"generation_config\.json: transformers cannot use it"):
        Checkpoint.open(tmp_path).load_network(torch.float32, torch.device("cpu"))
