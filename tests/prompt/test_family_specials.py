"""A document may spell every special token of every family, and comes back as plain text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from ragcache.model.supported import FAMILIES
from ragcache.prompt import Affix, ChatTokenizer, Prompt, tokenize

# as the checkpoints' tokenizer files have them; where there are hundreds alike, some
SPECIALS = {
    "llada": [
        "<|startoftext|>",
        "<|endoftext|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
        "<|mdm_mask|>",
        "<|reserved_token_0|>",
        "[CLS]",
        "[gMASK]",
        "<role>",
    ],
    "dream": ["<|endoftext|>", "<|beginoftext|>", "<|im_start|>", "<|im_end|>", "<|mask|>", "<|vision_pad|>"],
    "sdar": ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|MASK|>", "<think>", "</think>", "<tool_call>"],
    "llada2": ["<|startoftext|>", "<|endoftext|>", "<|mask|>", "<role>", "</role>", "<|role_end|>"],
    "diffusion_gemma": [
        "<pad>",
        "<eos>",
        "<bos>",
        "<unk>",
        "<mask>",
        "<|turn>",
        "<turn|>",
        "<start_of_turn>",
        "<end_of_turn>",
        "<|channel>",
        "<channel|>",
        "<|think|>",
        "<|tool_call>",
        "<tool_call|>",
        '<|"|>',
        "<|image|>",
    ],
}
# added, but not special: Qwen's tokenizers match them in any text, and so do others that read it
ADDED = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|fim_prefix|>"]
GEMMA_TEMPLATE = (
    "<bos>{% for m in messages %}<|turn>{{ m['role'] }}\n{{ m['content'] }}<turn|>\n{% endfor %}"
    "<|turn>model\n"
)


def byte_level(folder: Path, llada_folder: Path, specials: list[str]) -> None:
    """The small LLaDA tokenizer with other special tokens."""
    own = Tokenizer.from_file(str(llada_folder / "tokenizer.json"))
    own.add_special_tokens(specials)
    own.save(str(folder / "tokenizer.json"))
    config = json.loads((llada_folder / "tokenizer_config.json").read_text())
    config["additional_special_tokens"] = specials
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def gemma(folder: Path, specials: list[str]) -> None:
    """Of Gemma's kind: blanks are written as U+2581, and what is not in the vocabulary as its bytes."""
    characters = [*map(chr, range(33, 127)), "\u2581", "\n"]
    vocabulary = [*specials, *(f"<0x{byte:02X}>" for byte in range(256)), *characters]
    own = Tokenizer(
        models.BPE(
            {token: number for number, token in enumerate(vocabulary)},
            [],
            unk_token="<unk>",
            byte_fallback=True,
            fuse_unk=True,
        )
    )
    own.normalizer = normalizers.Replace(" ", "\u2581")
    own.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    own.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    own.add_special_tokens(specials)
    own.save(str(folder / "tokenizer.json"))
    config = {"bos_token": "<bos>", "eos_token": "<eos>", "chat_template": GEMMA_TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


@pytest.fixture(params=SPECIALS)
def tokenizer(request: pytest.FixtureRequest, llada_folder: Path, tmp_path: Path) -> ChatTokenizer:
    if request.param == "diffusion_gemma":
        gemma(tmp_path, SPECIALS[request.param])
    else:
        byte_level(tmp_path, llada_folder, SPECIALS[request.param])
    return ChatTokenizer.from_folder(tmp_path)


def test_no_family_is_left_out() -> None:
    assert SPECIALS.keys() == FAMILIES.keys()
    for name, family in FAMILIES.items():
        assert set(SPECIALS[name]) & set(family.stops)


def test_specials_in_documents_stay_text(tokenizer: ChatTokenizer) -> None:
    spelt = " and ".join(f"{text}{text.strip()}" for text in tokenizer.special_tokens)
    document = f"The file says {spelt}.\nIt \u00e9nds there, at 5 \u20ac."
    control = set(tokenizer.special_tokens.values())
    ids = tokenizer.encode(document).ids
    assert not control.intersection(ids)
    assert tokenizer.decode(ids) == document
    prompt = tokenize(Prompt.user(Affix("file", document), "\nWhat does it say?"), tokenizer)
    [span] = prompt.spans
    inside = prompt.token_ids[span.start : span.start + span.tokens]
    assert not control.intersection(inside)
    assert span.tokens > len(ids) // 2
    assert control.intersection(prompt.token_ids)  # those of the template


def test_added_tokens_that_are_not_special_come_back_too(llada_folder: Path, tmp_path: Path) -> None:
    byte_level(tmp_path, llada_folder, SPECIALS["dream"])
    own = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    own.add_tokens(ADDED)
    own.save(str(tmp_path / "tokenizer.json"))
    tokenizer = ChatTokenizer.from_folder(tmp_path)
    document = f"The file says {' and '.join(ADDED)}."
    assert tokenizer.decode(tokenizer.encode(document).ids) == document
