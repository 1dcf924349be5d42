"""A checkpoint's chat template, rendered with the conventions of Hugging Face checkpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ragcache.errors import CheckpointError, InputError


class _GenerationTag(Extension):
    """`{% generation %}` marks the answer for training; for rendering only its body counts."""

    tags = {"generation"}  # noqa: RUF012 - jinja's interface

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class ChatTemplate:
    """Renders messages to text; `tokens` are the names a template may use, such as `bos_token`.

    The template comes with the checkpoint and is not trusted: it runs in jinja's sandbox.
    Raises `CheckpointError` for a template that is no jinja.
    """

    def __init__(self, source: str, tokens: Mapping[str, str]) -> None:
        env = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _GenerationTag]
        )
        env.filters["tojson"] = _tojson
        env.globals["raise_exception"] = _refuse
        try:
            self._template = env.from_string(source)
        except (TemplateSyntaxError, RecursionError) as error:
            what = "it is nested too deeply"
            if isinstance(error, TemplateSyntaxError):
                what = f"line {error.lineno}: {error.message}"
            raise CheckpointError(
                f"The chat template is not valid jinja: {what}. "
                "Take chat_template from the checkpoint's original files."
            ) from error
        self._tokens = dict(tokens)

    def render(self, roles: Sequence[str], contents: Sequence[str], now: datetime) -> str:
        """The conversation as text, up to and including the head of the assistant's answer.

        `now` is the time a template sees. Raises `InputError` where the template refuses the
        messages, `CheckpointError` where it breaks.
        """
        messages = [{"role": r, "content": c} for r, c in zip(roles, contents, strict=True)]
        try:
            text = self._template.render(
                messages=messages,
                add_generation_prompt=True,
                tools=None,
                documents=None,
                strftime_now=now.strftime,
                **self._tokens,
            )
        except InputError:
            raise
        except Exception as error:  # whatever an expression can raise: TypeError, RecursionError, ...
            raise CheckpointError(
                f"The chat template failed on roles {', '.join(roles)}: {error}. "
                "Check that the checkpoint's template supports these roles."
            ) from error
        if not text.strip():
            raise CheckpointError(
                f"The chat template left out all messages of roles {', '.join(roles)}. "
                "Take chat_template from the checkpoint's original files."
            )
        return text


def _refuse(message: str) -> NoReturn:
    raise InputError(f"The chat template refuses these messages: {message}")


def _tojson(value: Any, indent: int | None = None, ensure_ascii: bool = False, **options: Any) -> str:
    # jinja's own filter escapes HTML, which would put &#39; into prompts.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)
