"""Requests of a model that can reuse nothing but the affix its prompt begins with, exactly (DiffusionGemma)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.canvases import denoise_canvases
from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.encode import Scaffold
from ragcache.decoding.step import Step, Work
from ragcache.engine.clock import Clock
from ragcache.engine.pages import Need
from ragcache.engine.request import ReuseReport
from ragcache.engine.session import Outcome, Session, place
from ragcache.errors import ConfigError
from ragcache.model.diffusion_gemma import EXACT_ONLY, DiffusionGemma
from ragcache.prompt import AffixSpan, SkippedSpan, TokenizedPrompt
from ragcache.reuse.policy import Direct, Full, ReusePolicy

NOT_IN_FRONT = "not in front: this model reuses the first affix of a prompt alone"
MERGED = "its first token merges with the text before it, and this model reuses whole beginnings alone"


def exact_policy(policy: ReusePolicy) -> ReusePolicy:
    """The policy of such a model: what is reused is exact, so the default and `auto` leave it as it is.

    Raises `ConfigError` for a policy that asks for something else than `direct` or `full`.
    """
    if policy.auto or policy == ReusePolicy():
        return Direct
    if policy not in (replace(base, min_tokens=policy.min_tokens) for base in (Direct, Full)):
        raise ConfigError(f"policy {policy.name!r}: {EXACT_ONLY}")
    return policy


def only_in_front(prompt: TokenizedPrompt) -> TokenizedPrompt:
    """`prompt`, all of its affixes skipped but the first; that too where its first token is another's."""
    spans: list[AffixSpan] = []
    skipped = list(prompt.skipped)
    for span in prompt.spans:
        if span is prompt.spans[0] and span.core_start == 0:
            spans.append(span)
            continue
        reason = MERGED if span is prompt.spans[0] else NOT_IN_FRONT
        skipped.append(SkippedSpan(span.name, span.start, span.tokens, reason))
    skipped.sort(key=lambda span: span.start)
    return replace(prompt, spans=tuple(spans), skipped=tuple(skipped))


def context_of(prompt: TokenizedPrompt) -> tuple[int, ...]:
    """What stands before the affix that is reused: a page of it fits behind just these tokens."""
    return prompt.token_ids[: prompt.spans[0].start] if prompt.spans else ()


def exact_need(need: Need, before: tuple[int, ...]) -> Need:
    """`need`, of pages encoded behind the tokens `before`. Raises `ConfigError` for a codec that rounds."""
    if need.codec != "raw":
        raise ConfigError(f"codec {need.codec!r} rounds, and this model's pages must be exact; use raw")
    return replace(need, within=Scaffold(before))


@dataclass(frozen=True)
class ExactSession(Session):
    """A `Session` of such a model."""

    def _decode(
        self, canvas: Canvas, options: DecodingOptions, ended: Callable[[list[int]], bool], clock: Clock
    ) -> Work[Outcome]:
        model = self._network()
        segments = place(self.prompt.spans, self.resolved)
        page = segments[0] if segments else None
        live = torch.ones(canvas.prompt_tokens, dtype=torch.bool)
        if page is not None:
            live[page.positions] = False
        rows = live.nonzero().squeeze(-1)

        def enough(ids: list[int]) -> bool:
            return ended(ids[: options.max_tokens])

        decided = yield from clock.time(
            denoise_canvases(model, canvas, rows, model.begin(page), options.seed, enough)
        )
        return Outcome(min(decided, options.max_tokens), rows, rows[:0], {})

    def _full_rows(self, clock: Clock, canvas: Canvas, report: ReuseReport) -> float:
        return sum(clock.rows.values()) - clock.rows.get("full", 0.0) + report.reused

    def _full_forward(self, canvas: Canvas) -> Work[None]:
        rows = torch.arange(canvas.prompt_tokens)
        yield Step(rows, canvas.token_ids[rows], rows[:0], self._network().begin(), kind="full")

    def _network(self) -> DiffusionGemma:
        assert isinstance(self.model.predictor, DiffusionGemma)
        return self.model.predictor
