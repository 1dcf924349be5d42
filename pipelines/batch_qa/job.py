"""Running a batch: grouped by affixes, a bounded number in flight, every answer written as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import BaseEngine, Completion, Request
from ragcache.errors import RagCacheError
from ragcache.pipelines.batch_qa.results import Results
from ragcache.pipelines.batch_qa.rows import Failure, Format, Question
from ragcache.pipelines.batch_qa.shapes import answer_row, error_row

IN_FLIGHT = 64  # requests that wait in the engine at a time: enough to fill its batches


@dataclass
class Summary:
    """What a run did. Tokens are counted over its own answers; `skipped` rows were finished before.

    `rows` are those of all forwards, `full_rows` those that as many steps take without reuse, and a row more
    takes `row_s`.
    """

    ok: int = 0
    failed: int = 0
    skipped: int = 0
    affix_tokens: int = 0
    hit_tokens: int = 0
    reused_tokens: int = 0
    answer_tokens: int = 0
    rows: float = 0.0
    full_rows: float = 0.0
    row_s: float = 0.0
    encode_s: float = 0.0
    seconds: float = 0.0

    @property
    def hit_rate(self) -> float:
        """Share of the affix tokens whose page was in the store."""
        return self.hit_tokens / self.affix_tokens if self.affix_tokens else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Answer tokens a second."""
        return self.answer_tokens / self.seconds if self.seconds else 0.0

    @property
    def saved_s(self) -> float:
        """Seconds that a run without reuse would have taken more; below 0 where reuse did not pay.

        An estimate by rows, less what encoding took.
        """
        return (self.full_rows - self.rows) * self.row_s - self.encode_s

    def add(self, completion: Completion) -> None:
        """Count one answer."""
        self.ok += 1
        self.rows += completion.rows
        self.full_rows += completion.full_rows
        self.encode_s += completion.timings.encode_s
        self.answer_tokens += completion.completion_tokens
        self.reused_tokens += completion.reuse.reused
        for use in completion.reuse.affixes:
            self.affix_tokens += use.tokens
            self.hit_tokens += use.tokens * (use.status == "hit")


@dataclass(frozen=True)
class Job:
    """Questions in, rows out. Answers do not depend on their order or on what is asked beside them."""

    engine: BaseEngine
    results: Results
    options: DecodingOptions = field(default_factory=DecodingOptions)
    form: Format = "simple"
    in_flight: int = IN_FLIGHT

    def run(self, found: Sequence[Question | Failure], on_row: Callable[[], None] = lambda: None) -> Summary:
        """Write a row for everything that is not finished yet; `on_row` is called after each.

        Interrupted, what was answered is in the file. Raises `ConfigError` when that cannot be written.
        """
        started, summary = time.perf_counter(), Summary()
        todo = [one for one in found if one.custom_id not in self.results.finished or _duplicate(one)]
        summary.skipped = len(found) - len(todo)
        for failure in (one for one in todo if isinstance(one, Failure)):
            self._fail(failure, summary, on_row)
        self._ask(in_order(one for one in todo if isinstance(one, Question)), summary, on_row)
        summary.row_s = self.engine.row_s
        summary.seconds = time.perf_counter() - started
        return summary

    def _ask(self, questions: Iterable[Question], summary: Summary, on_row: Callable[[], None]) -> None:
        pending: dict[Future[Completion], Question] = {}

        def finish(done: Iterable[Future[Completion]]) -> None:
            for future in done:
                self._finish(pending.pop(future), future, summary, on_row)

        try:
            for question in questions:
                pending[self._submit(question)] = question
                if len(pending) >= self.in_flight:
                    finish(wait(pending, return_when=FIRST_COMPLETED).done)
            while pending:
                finish(wait(pending, return_when=FIRST_COMPLETED).done)
        finally:
            for future in pending:
                future.cancel()

    def _submit(self, question: Question) -> Future[Completion]:
        """What cannot even be submitted fails like what cannot be answered."""
        try:
            return self.engine.submit(request_for(question, self.options), wait=True)
        except RagCacheError as error:
            refused: Future[Completion] = Future()
            refused.set_exception(error)
            return refused

    def _finish(
        self, question: Question, future: Future[Completion], summary: Summary, on_row: Callable[[], None]
    ) -> None:
        try:
            completion = future.result()
        except Exception as error:  # also a forward's own, such as one without memory: others go on
            self._fail(Failure.of(error, question.line, question.custom_id), summary, on_row)
            return
        self.results.write(answer_row(question, completion, self.form))
        summary.add(completion)
        on_row()

    def _fail(self, failure: Failure, summary: Summary, on_row: Callable[[], None]) -> None:
        self.results.write(error_row(failure, self.form))
        summary.failed += 1
        on_row()


def request_for(question: Question, options: DecodingOptions) -> Request:
    """The engine's request for one question, which may have a length of its own."""
    if question.max_tokens is not None:
        options = replace(options, max_tokens=question.max_tokens)
    return Request(question.prompt, options)


def in_order(questions: Iterable[Question]) -> list[Question]:
    """Those that share affixes together, shorter ones first: pages are loaded once, batches padded little."""

    def length(question: Question) -> int:
        return sum(len(message.text) for message in question.prompt.messages)

    return sorted(questions, key=lambda question: (question.affixes, length(question)))


def preview(engine: BaseEngine, question: Question, options: DecodingOptions) -> dict[str, Any]:
    """What a question would need: prompt tokens, affixes and how many of their pages are there already.

    `over` is by how many tokens prompt and answer exceed the model's window, 0 if they fit.
    """
    found = engine.preview(request_for(question, options))
    return {
        "custom_id": question.custom_id,
        "prompt_tokens": found.prompt_tokens,
        "affixes": len(found.affixes("hit", "missing")),
        "expected_hits": len(found.affixes("hit")),
        "over": found.over,
    }


def _duplicate(one: Question | Failure) -> bool:
    """A second line with an id is a failure of its own, whatever became of the first."""
    return isinstance(one, Failure) and one.code == "duplicate_id"
