"""A tokenizer from `vocab.json` and `merges.txt` equals the one whose `tokenizer.json` it stands in for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ragcache.errors import CheckpointError
from ragcache.prompt import ChatTokenizer

TEXTS = [
    "The manager of the harbour lives in the old town.\n\nWhere?\n",
    "Café crème, 12345 naïve façades: don't  \t stop!\r\n",
    "<|im_end|> is text, <|mask|> too; e\u0301",
]


@pytest.fixture
def split_folder(dream_folder: Path, tmp_path: Path) -> Path:
    """The same tokenizer in the older files, as Dream's repositories have it."""
    folder = Path(shutil.copytree(dream_folder, tmp_path / "split"))
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").unlink()
    added = {token["id"]: token for token in tokenizer["added_tokens"]}
    vocabulary = {text: number for text, number in tokenizer["model"]["vocab"].items() if number not in added}
    shift = min(added) == 0  # ours begins with the added tokens; then they must stay in the vocabulary
    (folder / "vocab.json").write_text(json.dumps(tokenizer["model"]["vocab"] if shift else vocabulary))
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in tokenizer["model"]["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config |= {"tokenizer_class": "DreamTokenizer", "added_tokens_decoder": added}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("text", TEXTS)
def test_same_ids(dream: ChatTokenizer, split_folder: Path, text: str) -> None:
    built = ChatTokenizer.from_folder(split_folder)
    assert built.encode(text) == dream.encode(text)
    assert built.special_tokens == dream.special_tokens
    assert built.decode(built.encode(text).ids) == dream.decode(dream.encode(text).ids)


def test_another_class_needs_tokenizer_json(split_folder: Path) -> None:
    config = json.loads((split_folder / "tokenizer_config.json").read_text()) | {"tokenizer_class": "GPT9"}
    (split_folder / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is missing"):
        ChatTokenizer.from_folder(split_folder)


def test_damaged_merges_are_named(split_folder: Path) -> None:
    (split_folder / "merges.txt").write_text("#version: 0.2\nno such pair\n")
    with pytest.raises(CheckpointError, match=r"vocab\.json and merges\.txt are no tokenizer"):
        ChatTokenizer.from_folder(split_folder)


def test_ids_that_the_files_do_not_agree_on_are_refused(split_folder: Path) -> None:
    config = json.loads((split_folder / "tokenizer_config.json").read_text())
    config["added_tokens_decoder"]["4000"] = {"content": "<|extra|>", "special": True}
    (split_folder / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"added token '<\|extra\|>' should be 4000"):
        ChatTokenizer.from_folder(split_folder)
