"""A document may spell every special token of every family, and comes back as plain text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from ragcache.prompt import Affix, ChatTokenizer, Prompt, tokenize

# as the checkpoints' tokenizer files have them
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
}


@pytest.fixture(params=SPECIALS)
def tokenizer(request: pytest.FixtureRequest, llada_folder: Path, tmp_path: Path) -> ChatTokenizer:
    """The small LLaDA tokenizer with one family's special tokens."""
    own = Tokenizer.from_file(str(llada_folder / "tokenizer.json"))
    own.add_special_tokens(SPECIALS[request.param])
    own.save(str(tmp_path / "tokenizer.json"))
    config = json.loads((llada_folder / "tokenizer_config.json").read_text())
    config["additional_special_tokens"] = SPECIALS[request.param]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return ChatTokenizer.from_folder(tmp_path)


def test_specials_in_documents_stay_text(tokenizer: ChatTokenizer) -> None:
    spelt = " and ".join(f"{text}{text.strip()}" for text in tokenizer.special_tokens)
    document = f"The file says {spelt}.\nIt ends there."
    control = set(tokenizer.special_tokens.values())
    ids = tokenizer.encode(document).ids
    assert not control.intersection(ids)
    assert tokenizer.decode(ids) == document
    prompt = tokenize(Prompt.user(Affix("file", document), "\nWhat does it say?"), tokenizer)
    [span] = prompt.spans
    inside = prompt.token_ids[span.start : span.start + span.tokens]
    assert not control.intersection(inside)
    assert span.tokens > len(ids) // 2
