"""A checkpoint's tokenizer and chat template: text and prompts in, token ids out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from tokenizers import Tokenizer

from ragcache.errors import CheckpointError, InputError
from ragcache.prompt.chat_template import ChatTemplate
from ragcache.prompt.parts import Prompt
from ragcache.prompt.rendered import Rendered, render_joined, render_through
from ragcache.prompt.tokenizer_files import TokenizerFiles, read_tokenizer_files


@dataclass(frozen=True)
class Encoding:
    """Token ids with the characters `(start, end)` each was made of; both have one entry per token.

    Tokens that share a character (a byte-level tokenizer splits an emoji) share its offsets.
    """

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]


class ChatTokenizer:
    """Thread-safe and read-only after construction; make one with `from_folder`.

    `fingerprint` is the sha256 of tokenizer and template, `vocab_size` the largest id + 1,
    `special_tokens` maps each special token's text to its id.
    """

    fingerprint: str
    vocab_size: int
    special_tokens: Mapping[str, int]
    bos_token: str | None
    eos_token: str | None

    def __init__(self, files: TokenizerFiles) -> None:
        self._tokenizer = files.tokenizer
        # Read first: declaring a token anew drops the flags it had.
        self._specials = _special_pattern(self._tokenizer, files.specials)
        # Declaring all of them makes the tokenizer itself treat them alike; the second line then
        # lets none of them match: from here on the tokenizer knows only plain text.
        self._tokenizer.add_special_tokens(sorted(files.specials))
        self._tokenizer.encode_special_tokens = True
        self._template = None if files.template is None else ChatTemplate(files.template, files.named)
        ids = self._tokenizer.get_vocab(with_added_tokens=True)
        self.fingerprint = files.fingerprint
        self.vocab_size = max(ids.values()) + 1
        self.special_tokens = MappingProxyType({text: ids[text] for text in sorted(files.specials)})
        self.bos_token, self.eos_token = files.named.get("bos_token"), files.named.get("eos_token")

    @classmethod
    def from_folder(cls, path: Path) -> ChatTokenizer:
        """Read a checkpoint folder; `CheckpointError` names the file that is missing or damaged."""
        files = read_tokenizer_files(path)
        try:
            return cls(files)
        except CheckpointError as error:
            raise CheckpointError(f"{path}: {error}") from error

    @property
    def bos_token_id(self) -> int | None:
        """Id of the token that begins a text, if the checkpoint has one."""
        return None if self.bos_token is None else self.special_tokens[self.bos_token]

    @property
    def eos_token_id(self) -> int | None:
        """Id of the token that ends a text, if the checkpoint has one."""
        return None if self.eos_token is None else self.special_tokens[self.eos_token]

    def encode(self, text: str) -> Encoding:
        """Tokens of plain text: nothing is added, and a special token's text stays text.

        Raises `InputError` for text that is not valid Unicode.
        """
        try:
            encoding = self._tokenizer.encode(text, add_special_tokens=False)
        except TypeError as error:
            raise InputError(
                "The text holds a lone surrogate, which is no character; decode its source as UTF-8."
            ) from error
        return Encoding(tuple(encoding.ids), tuple(encoding.offsets))

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the tokens, without the special ones."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=True)

    def render(self, prompt: Prompt) -> Rendered:
        r"""The text the model reads, with the marks' places in it.

        A chat prompt of a checkpoint without a template is its contents joined by `"\n\n"`.
        Raises `InputError` where the template refuses the messages or where special tokens' text
        in them could not be told from the template's own, `CheckpointError` where it breaks.
        """
        template, messages = self._template, prompt.messages
        if prompt.raw or template is None:
            return render_joined(messages)
        roles, now = [message.role for message in messages], datetime.now()
        rendered = render_through(messages, lambda contents: template.render(roles, contents, now))
        if not rendered.content_spans:
            self._refuse_specials(prompt)
        return rendered

    def encode_rendered(self, rendered: Rendered) -> Encoding:
        """Tokens of the whole prompt: the template's special tokens as such, all else as plain text."""
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        at = 0
        for start, end, special in (*self._template_specials(rendered), (len(rendered.text), 0, None)):
            plain = self.encode(rendered.text[at:start])
            ids += plain.ids
            offsets += ((at + a, at + b) for a, b in plain.offsets)
            if special is not None:
                ids.append(special)
                offsets.append((start, end))
                at = end
        return Encoding(tuple(ids), tuple(offsets))

    def _template_specials(self, rendered: Rendered) -> Iterator[tuple[int, int, int]]:
        at, length = 0, len(rendered.text)
        for start, end in (*rendered.content_spans, (length, length)):
            for match in self._specials.finditer(rendered.text, at, start):
                yield match.start(), match.end(), self.special_tokens[match[match.lastindex or 0]]
            at = end

    def _refuse_specials(self, prompt: Prompt) -> None:
        for message in prompt.messages:
            if found := self._specials.search(message.text):
                raise InputError(
                    f"The {message.role} message holds {found[0]!r}, and this chat template mixes messages "
                    "so that it could become a control token. Remove it from the text."
                )


def _special_pattern(tokenizer: Tokenizer, specials: frozenset[str]) -> re.Pattern[str]:
    """One group per special token, longest first; with the blanks that a token swallows around it."""
    added = {token.content: token for token in tokenizer.get_added_tokens_decoder().values()}
    parts = []
    for text in sorted(specials, key=len, reverse=True):
        token = added.get(text)
        left = r"\s*" if token and token.lstrip else ""
        right = r"\s*" if token and token.rstrip else ""
        parts.append(f"{left}({re.escape(text)}){right}")
    return re.compile("|".join(parts) or r"(?!)")
