"""Two small checkpoints: one in the style of LLaDA, one in the style of Dream."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from ragcache.prompt import ChatTokenizer

LLADA_SPECIALS = [
    "<|startoftext|>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|mdm_mask|>",
]
LLADA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}"
    "{{ message['content'] + '<|eot_id|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
CHATML_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|mask|>"]
CHATML_TEMPLATE = """{% if messages[0]['role'] != 'system' %}
<|im_start|>system
You are a helpful assistant.<|im_end|>
{% endif %}
{% for message in messages %}
{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' }}
{% endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{%- endif %}
"""
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CORPUS = [
    "The manager of the harbour lives in the old town near the river.",
    "You are a helpful assistant. Answer from the documents.\n\nNot stated in them? Say so.\n\n",
    "Café crème, naïve façade, Zürich.\n\nWhere is the café?\n",
    "The river is long.\n\nThe river is wide.\n\nThe town is old.\n",
]


def _train(specials: list[str], qwen: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not qwen)
    if qwen:
        split = pre_tokenizers.Split(Regex(QWEN_SPLIT), behavior="isolated")
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    else:
        tokenizer.pre_tokenizer = byte_level
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS * 4, trainer)
    # What real checkpoints carry and a prompt must not suffer from.
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.enable_truncation(16)
    return tokenizer


@pytest.fixture(scope="session")
def llada_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llada")
    _train(LLADA_SPECIALS, qwen=False).save(str(folder / "tokenizer.json"))
    config = {
        "bos_token": "<|startoftext|>",
        "eos_token": {"content": "<|endoftext|>", "special": True},
        "mask_token": "<|mdm_mask|>",
        "chat_template": LLADA_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="session")
def dream_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dream")
    _train(CHATML_SPECIALS, qwen=True).save(str(folder / "tokenizer.json"))
    config = {"bos_token": None, "eos_token": "<|endoftext|>", "chat_template": "overridden by the file"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "chat_template.jinja").write_text(CHATML_TEMPLATE)
    return folder


@pytest.fixture(scope="session")
def llada(llada_folder: Path) -> ChatTokenizer:
    return ChatTokenizer.from_folder(llada_folder)


@pytest.fixture(scope="session")
def dream(dream_folder: Path) -> ChatTokenizer:
    return ChatTokenizer.from_folder(dream_folder)


@pytest.fixture(params=["llada", "dream"])
def tokenizer(request: pytest.FixtureRequest) -> ChatTokenizer:
    tokenizer: ChatTokenizer = request.getfixturevalue(request.param)
    return tokenizer


@pytest.fixture
def with_template(llada_folder: Path, tmp_path: Path) -> Callable[[str | None], ChatTokenizer]:
    """The LLaDA-style checkpoint with another chat template, or none."""

    def build(template: str | None) -> ChatTokenizer:
        (tmp_path / "tokenizer.json").write_bytes((llada_folder / "tokenizer.json").read_bytes())
        config = json.loads((llada_folder / "tokenizer_config.json").read_text())
        config["chat_template"] = template
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        return ChatTokenizer.from_folder(tmp_path)

    return build
