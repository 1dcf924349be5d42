"""Reading a checkpoint's tokenizer files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, processors

from ragcache.errors import CheckpointError
from ragcache.prompt.byte_bpe import has_byte_bpe, read_byte_bpe

TOKENIZER = "tokenizer.json"
CONFIG = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"
SPECIALS = "special_tokens_map.json"


@dataclass(frozen=True)
class TokenizerFiles:
    """What a folder says: the tokenizer, its template (None: it has none), and its special tokens.

    `named` maps `bos_token`, `eos_token`, ... to their text; `specials` is every text the files
    declare special and the vocabulary holds. `fingerprint` is the sha256 of tokenizer and template.
    """

    tokenizer: Tokenizer
    template: str | None
    named: Mapping[str, str]
    specials: frozenset[str]
    fingerprint: str


def read_tokenizer_files(folder: Path) -> TokenizerFiles:
    """Read `tokenizer.json`, `tokenizer_config.json` and, if present, the template's own file.

    Without `tokenizer.json`, a Qwen2 tokenizer is built from `vocab.json` and `merges.txt`.

    Raises `CheckpointError` naming the file that is missing or damaged.
    """
    if not (folder / TOKENIZER).exists() and not (folder / CONFIG).exists():
        raise CheckpointError(f"{folder / TOKENIZER} is missing; a checkpoint folder needs it.")
    config = _read_json(folder / CONFIG)
    if (folder / SPECIALS).exists():
        config = {**_read_json(folder / SPECIALS), **config}
    source = _source(folder, config)
    tokenizer = _parse(folder / TOKENIZER, source)
    template = _template(folder, config)
    named = {key: text for key, value in config.items() if key.endswith("_token") and (text := _text(value))}
    for key in ("bos_token", "eos_token"):
        if key in named and tokenizer.token_to_id(named[key]) is None:
            raise CheckpointError(
                f"{folder / CONFIG}: {key} is {named[key]!r}, which {TOKENIZER} does not have. "
                "Take both files from the same checkpoint."
            )
    declared = {*named.values(), *_further_specials(config), *_added_specials(tokenizer)}
    return TokenizerFiles(
        tokenizer,
        template,
        named,
        frozenset(text for text in declared if tokenizer.token_to_id(text) is not None),
        hashlib.sha256(source.encode() + b"\0" + (template or "").encode()).hexdigest(),
    )


def _source(folder: Path, config: Mapping[str, Any]) -> str:
    """The tokenizer as `tokenizer.json` holds it, or would hold it."""
    if not (folder / TOKENIZER).exists() and has_byte_bpe(folder, config):
        return read_byte_bpe(folder, config).to_str()
    return _read(folder / TOKENIZER)


def _parse(path: Path, source: str) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_str(source)
    except Exception as error:  # the Rust side raises plain Exception
        raise CheckpointError(f"{path} is not a tokenizer: {error}. Download it again.") from error
    # Nothing may be cut off or filled up silently, and nothing added in front. This post-processor
    # leaves offsets whole, where a checkpoint's own may trim blanks off them.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def _template(folder: Path, config: Mapping[str, Any]) -> str | None:
    if (folder / TEMPLATE).exists():
        return _read(folder / TEMPLATE)
    template = config.get("chat_template")
    if isinstance(template, list):  # several, by name
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("default")
    if template is not None and not isinstance(template, str):
        raise CheckpointError(
            f"{folder / CONFIG}: chat_template must be text, not {type(template).__name__}."
        )
    return template


def _further_specials(config: Mapping[str, Any]) -> Iterator[str]:
    """Special tokens that have no name of their own in the config."""
    for key in ("additional_special_tokens", "extra_special_tokens"):
        yield from filter(None, map(_text, _values(config.get(key))))
    for token in _values(config.get("added_tokens_decoder")):
        if isinstance(token, dict) and token.get("special") and (text := _text(token)):
            yield text


def _values(listing: Any) -> Iterable[Any]:
    """The entries of a list or the values of an object; files of different ages hold either."""
    if isinstance(listing, dict):
        return listing.values()
    return listing if isinstance(listing, list) else ()


def _added_specials(tokenizer: Tokenizer) -> Iterator[str]:
    return (token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special)


def _text(value: Any) -> str | None:
    """A token's text: given plainly, or as a serialised token with its flags."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) and text else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not valid JSON: {error}. Download it again.") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} must hold a JSON object, not {type(value).__name__}.")
    return value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing; a checkpoint folder needs it.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}.") from error
