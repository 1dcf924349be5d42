"""One request from prompt to completion, as work that yields its denoising steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.defaults import with_defaults
from ragcache.decoding.denoise import DecodingOptions, denoise
from ragcache.decoding.step import Step, Work
from ragcache.engine.answer import AnswerReader
from ragcache.engine.clock import Clock
from ragcache.engine.job import Ready
from ragcache.engine.kv_pool import Grant
from ragcache.engine.loaded_model import LoadedModel
from ragcache.engine.pages import Resolved
from ragcache.engine.preview import RECOMPUTED
from ragcache.engine.request import AffixUse, Completion, Request, ReuseReport, Timings
from ragcache.engine.trace import Trace
from ragcache.errors import PromptTooLongError
from ragcache.model.attention import Backend, GatherKV
from ragcache.model.config import ModelConfig
from ragcache.model.segment import Segment
from ragcache.prompt import AffixSpan, TokenizedPrompt
from ragcache.reuse.plan import make_plan, most_live


@dataclass(frozen=True)
class Outcome:
    """What decoding came to: positions `decided`, those computed (`live`), anchors among them with scores."""

    decided: int
    live: Tensor
    anchors: Tensor
    scores: dict[int, float]


@dataclass(frozen=True)
class Session:
    """Everything one request needs once its prompt is tokenised and its pages are there.

    Its private KV lies in what was granted; what it does not need of that is given back. `forward_s` says how
    many seconds of the last forward were its own.
    """

    request: Request
    ready: Ready
    resolved: Resolved
    model: LoadedModel
    backend: Backend
    grant: Grant
    forward_s: Callable[[], float]

    @property
    def prompt(self) -> TokenizedPrompt:
        """The prompt's ids and affixes."""
        return self.ready.prompt

    def work(self, on_text: Callable[[str], None] = lambda text: None) -> Work[Completion]:
        """Probe, refresh, refine. `on_text` receives the answer so far after every finished block."""
        started = time.perf_counter()
        config = self.model.predictor.config
        options = with_defaults(self.request.options, config)
        reader = AnswerReader(self.model.tokenizer, self.model.stop_ids, self.request.stop)
        canvas = Canvas.of(config, self.prompt.token_ids, options.max_tokens, options.block_length or 0)
        clock = Clock(
            config.layers,
            canvas if self.request.trace else None,
            keep_logits=self.request.keep_logits,
            forward_s=self.forward_s,
        )

        def ended(ids: list[int]) -> bool:
            on_text(reader.streamable(ids))
            return reader.read(ids).ended

        outcome = yield from self._decode(canvas, options, ended, clock)
        total_s = time.perf_counter() - started
        if self.request.compare:
            yield from clock.time(self._full_forward(canvas))
        ids = canvas.answer()[: outcome.decided]
        answer = reader.read(ids)
        report = self._report(outcome.live)
        return Completion(
            text=answer.text.strip(),
            token_ids=tuple(ids[: answer.tokens]),
            finish_reason="stop" if answer.ended else "length",
            reuse=report,
            timings=self._timings(clock, total_s),
            forwards=clock.forwards.total() - clock.forwards["full"],
            refreshes=clock.forwards["refresh"],
            rows=sum(clock.rows.values()) - clock.rows.get("full", 0.0),
            full_rows=self._full_rows(clock, canvas, report),
            live_rows=clock.first_rows / canvas.tokens,
            bytes_read=self.resolved.bytes_read,
            trace=self._trace(canvas, outcome, clock) if self.request.trace else None,
            first_logits=clock.first_logits,
            model=self.model.name,
            policy=self.ready.policy.name,
        )

    def _decode(
        self, canvas: Canvas, options: DecodingOptions, ended: Callable[[list[int]], bool], clock: Clock
    ) -> Work[Outcome]:
        """Fill the canvas, the steps timed by `clock`, until `ended` says so of the answer so far."""
        segments = place(self.prompt.spans, self.resolved)
        plan = yield from clock.time(
            make_plan(
                self.model.mask_predictor,
                canvas,
                segments,
                self.ready.policy,
                self.backend,
                self.ready.table,
                self.grant,
            )
        )
        if not self.request.compare:
            self.grant.settle()
        decided = yield from clock.time(
            denoise(canvas, plan.at_block, plan.kv, options, ended, self.model.stop_ids)
        )
        scores = dict(zip(plan.scored.tolist(), plan.scores.tolist(), strict=True))
        return Outcome(decided, plan.live, plan.anchors, scores)

    def _full_rows(self, clock: Clock, canvas: Canvas, report: ReuseReport) -> float:
        """Rows of as many steps without reuse: every refresh computes everything."""
        return clock.forwards["refresh"] * canvas.tokens + clock.rows.get("refine", 0.0)

    def _trace(self, canvas: Canvas, outcome: Outcome, clock: Clock) -> Trace:
        return Trace(
            token_ids=tuple(canvas.token_ids.tolist()),
            prompt_tokens=canvas.prompt_tokens,
            anchors=tuple(outcome.anchors.tolist()),
            scores=outcome.scores,
            steps=tuple(clock.steps),
        )

    def _full_forward(self, canvas: Canvas) -> Work[None]:
        """The refresh that a request without reuse would make: every row, to compare; after the answer."""
        predictor = self.model.mask_predictor
        kv = GatherKV(predictor.config, canvas.tokens, (), predictor.dtype, predictor.devices, self.grant)
        rows = torch.arange(canvas.tokens)
        start, stop = next(canvas.blocks())
        yield Step(rows, canvas.token_ids, canvas.predictors(rows[start:stop]), kv, kind="full")

    def _report(self, live: Tensor) -> ReuseReport:
        """Of the positions `live`, those within an affix are recomputed: anchors, and rows that must be."""
        reuses = self.ready.policy.reuses
        uses = [AffixUse(s.name, s.start, s.tokens, "skipped", 0, s.reason) for s in self.prompt.skipped]
        for span in self.prompt.spans:
            stop = span.start + span.tokens
            if reuses:
                count = int(((live >= span.start) & (live < stop)).sum())
                page = self.resolved.pages[span.token_ids]
                uses.append(AffixUse(span.name, span.start, span.tokens, page.status, count, page.reason))
            else:
                uses.append(AffixUse(span.name, span.start, span.tokens, "skipped", span.tokens, RECOMPUTED))
        inside = sum(span.tokens for span in self.prompt.spans)
        recomputed = sum(use.anchors for use in uses)
        fresh = self.prompt.tokens - inside
        order = tuple(sorted(uses, key=lambda use: use.start))
        return ReuseReport(order, self.prompt.tokens, inside - recomputed, recomputed, fresh)

    def _timings(self, clock: Clock, total_s: float) -> Timings:
        load_s, encode_s = self.resolved.load_s, self.resolved.encode_s
        return Timings(
            tokenize_s=self.ready.tokenize_s,
            load_s=load_s,
            encode_s=encode_s,
            probe_s=clock.seconds.get("probe", 0.0),
            refresh_s=clock.seconds.get("refresh", 0.0),
            refine_s=clock.seconds.get("refine", 0.0),
            full_s=clock.seconds.get("full", 0.0),
            total_s=self.ready.tokenize_s + load_s + encode_s + total_s,
        )


def place(spans: Sequence[AffixSpan], resolved: Resolved) -> list[Segment]:
    """Segments for the resolved spans: only the core of each page is seen."""
    segments = []
    for span in spans:
        if span.token_ids not in resolved.pages:
            continue
        own = resolved.pages[span.token_ids]
        before = own.before if resolved.codec == "raw" else None  # other codecs round
        keep = torch.zeros(own.page.tokens, dtype=torch.bool)
        keep[span.core_start : span.core_start + span.tokens] = True
        segments.append(Segment(own.page, span.start - span.core_start, keep, before))
    return segments


def private_columns(
    request: Request, ready: Ready, backend: Backend, config: ModelConfig, tokens: int
) -> int:
    """Columns of private KV that a request of `tokens`, prompt and canvas, holds at most; all, to compare."""
    if request.compare:
        return tokens
    in_affixes = sum(span.tokens for span in ready.prompt.spans)
    return backend.private_columns(tokens, most_live(config, tokens, in_affixes, ready.policy))


def check_window(prompt: TokenizedPrompt, request: Request, config: ModelConfig) -> int:
    """Tokens of prompt and canvas; nothing is cut. Raises `PromptTooLongError` beyond the window."""
    needed = prompt.tokens + config.answer_tokens(request.options.max_tokens)
    if needed > config.max_tokens:
        raise PromptTooLongError(needed, config.max_tokens)
    return needed
