"""A Qwen2 tokenizer from `vocab.json` and `merges.txt`: Dream's checkpoints ship no `tokenizer.json`.

The rules are those of Qwen2's published fast tokenizer: NFC, its split pattern, byte-level BPE.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from ragcache.errors import CheckpointError

VOCAB, MERGES = "vocab.json", "merges.txt"
CLASSES = ("DreamTokenizer", "Qwen2Tokenizer", "Qwen2TokenizerFast")
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def has_byte_bpe(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether the folder's tokenizer is one that can be built here; `config` is `tokenizer_config.json`."""
    known = config.get("tokenizer_class") in CLASSES
    return known and (folder / VOCAB).exists() and (folder / MERGES).exists()


def read_byte_bpe(folder: Path, config: Mapping[str, Any]) -> Tokenizer:
    """Build the tokenizer. Raises `CheckpointError` naming the damaged file."""
    try:
        tokenizer = Tokenizer(models.BPE.from_file(str(folder / VOCAB), str(folder / MERGES)))
    except Exception as error:  # the Rust side raises plain Exception
        raise CheckpointError(
            f"{folder}: {VOCAB} and {MERGES} are no tokenizer ({error}). Download them again."
        ) from error
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    _add_tokens(folder, tokenizer, config)
    return tokenizer


def _add_tokens(folder: Path, tokenizer: Tokenizer, config: Mapping[str, Any]) -> None:
    """The added tokens, in order of their ids, which must come out as the files say."""
    listed = config.get("added_tokens_decoder")
    try:
        added = sorted((int(number), dict(token)) for number, token in dict(listed or {}).items())
        for number, token in added:
            flags = {
                name: bool(token.get(name)) for name in ("lstrip", "rstrip", "single_word", "normalized")
            }
            text = str(token["content"])
            tokenizer.add_tokens([AddedToken(text, special=bool(token.get("special")), **flags)])
            if tokenizer.token_to_id(text) != number:
                raise CheckpointError(
                    f"{folder}: added token {text!r} should be {number}, but {VOCAB} leaves it "
                    f"{tokenizer.token_to_id(text)}. Take both files from the same checkpoint."
                )
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder}: added_tokens_decoder cannot be read ({error!r})") from error
