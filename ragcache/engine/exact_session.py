"""Requests of a model that reuses the affixes its prompt begins with alone, exactly (DiffusionGemma)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.canvases import denoise_canvases
from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.encode import Scaffold
from ragcache.decoding.step import Step, Work
from ragcache.engine.clock import Clock
from ragcache.engine.job import Ready
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.pages import Need
from ragcache.engine.request import Request, ReuseReport
from ragcache.engine.scaffold import scaffold_for
from ragcache.engine.session import Outcome, Session, place
from ragcache.errors import ConfigError
from ragcache.model.diffusion_gemma import EXACT_ONLY, DiffusionGemma
from ragcache.prompt import AffixSpan, SkippedSpan, TokenizedPrompt
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.policy import Direct, Full, ReusePolicy

BETWEEN = 64
"""Most tokens of other text before an affix in front, or between two: turn headers, titles."""
NOT_IN_FRONT = f"over {BETWEEN} tokens of other text stand before it, and this model reuses prefixes alone"
MERGED = "its first token merges with the text before it, and this model reuses whole beginnings alone"
TWICE = "it stands before itself, where its page would be another one"


def only_in_front(prompt: TokenizedPrompt) -> TokenizedPrompt:
    """`prompt`, all affixes skipped but those that it begins with, one after another."""
    front: list[AffixSpan] = []
    skipped, end = list(prompt.skipped), 0
    for span in prompt.spans:
        reason = _why_not(span, front, end)
        if reason:
            skipped.append(SkippedSpan(span.name, span.start, span.tokens, reason))
        else:
            front.append(span)
            end = span.start + span.tokens
    skipped.sort(key=lambda span: span.start)
    return replace(prompt, spans=tuple(front), skipped=tuple(skipped))


def _why_not(span: AffixSpan, front: Sequence[AffixSpan], end: int) -> str:
    """Why `span` does not belong to the affixes in `front`, which end at `end`; "" if it does."""
    if span.start - end > BETWEEN:
        return NOT_IN_FRONT
    if span.core_start:
        return MERGED
    return TWICE if any(one.token_ids == span.token_ids for one in front) else ""


@dataclass(frozen=True)
class ExactSession(Session):
    """A `Session` of such a model."""

    def _decode(
        self, canvas: Canvas, options: DecodingOptions, ended: Callable[[list[int]], bool], clock: Clock
    ) -> Work[Outcome]:
        model = self._network()
        pages = place(self.prompt.spans, self.resolved)
        live = torch.ones(canvas.prompt_tokens, dtype=torch.bool)
        for page in pages:
            live[page.positions] = False
        rows = live.nonzero().squeeze(-1)

        def enough(ids: list[int]) -> bool:
            return ended(ids[: options.max_tokens])

        decided = yield from clock.time(
            denoise_canvases(model, canvas, rows, model.begin(pages), options.seed, enough)
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


class PrefixReuse:
    """The `Reuse` of such a model (`ragcache.engine.affix_reuse`): a page fits one place in one context."""

    session = ExactSession

    def __init__(self, model: LoadedModel) -> None:
        self._model = model

    def policy(self, wanted: ReusePolicy) -> ReusePolicy:
        """What is reused is exact, so the default and `auto` leave it as it is.

        Raises `ConfigError` for a policy that asks for something else than `direct` or `full`.
        """
        if wanted.auto or wanted == ReusePolicy():
            return Direct
        if wanted not in (replace(base, min_tokens=wanted.min_tokens) for base in (Direct, Full)):
            raise ConfigError(f"policy {wanted.name!r}: {EXACT_ONLY}")
        return wanted

    def table(self, policy: ReusePolicy) -> DepthTable | None:
        """None: nothing is recomputed from a layer on."""
        return None

    def usable(self, prompt: TokenizedPrompt) -> TokenizedPrompt:
        """Those in front."""
        return only_in_front(prompt)

    def need(self, base: Need, request: Request, ready: Ready) -> Need:
        """Encoded behind what stands before them. Raises `ConfigError` for a codec that rounds."""
        return replace(_exact(base), ids=ready.prompt.token_ids)

    def warm_need(self, base: Need) -> Need:
        """As a user's message begins; behind a system prompt it is another page. Raises as `need`."""
        return replace(_exact(base), within=Scaffold(scaffold_for("", self._model).before))


def _exact(need: Need) -> Need:
    if need.codec != "raw":
        raise ConfigError(f"codec {need.codec!r} rounds, and this model's pages must be exact; use raw")
    return need
