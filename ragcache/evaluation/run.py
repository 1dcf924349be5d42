"""Accuracy of reuse policies on examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Engine, Request
from ragcache.errors import PromptTooLongError
from ragcache.evaluation.generators import Example
from ragcache.evaluation.metrics import exact_match, f1
from ragcache.prompt import Affix
from ragcache.prompt.rag import rag_prompt
from ragcache.reuse.policy import ReusePolicy


@dataclass(frozen=True)
class Row:
    """Means over the `n` examples of a data set under one policy; shares are in 0..1.

    `agreement` is the share of answers identical to those of `full` (None when that was not run), `reused`
    the share of prompt tokens served from pages, `forwards` the forwards a request took.
    """

    dataset: str
    policy: str
    n: int
    em: float
    f1: float
    agreement: float | None
    reused: float
    forwards: float


def evaluate(
    engine: Engine,
    examples: Sequence[Example],
    policies: Sequence[ReusePolicy],
    *,
    dataset: str,
    options: DecodingOptions | None = None,
    on_answer: Callable[[], None] = lambda: None,
) -> list[Row]:
    """One row a policy. `on_answer` is called after every answer.

    Raises `PromptTooLongError` naming the example, and the engine's errors.
    """
    decoding = options or DecodingOptions()
    done = {p.name: _complete(engine, examples, p, decoding, on_answer) for p in policies}
    full = [completion.text for completion in done.get("full", ())]
    return [_row(dataset, name, examples, completions, full) for name, completions in done.items()]


def _complete(
    engine: Engine,
    examples: Sequence[Example],
    policy: ReusePolicy,
    options: DecodingOptions,
    on_answer: Callable[[], None],
) -> list[Completion]:
    """All at once into the queue, so that the engine can batch them."""
    futures = [engine.submit(_request(example, policy, options)) for example in examples]
    completions = []
    try:
        for number, future in enumerate(futures, start=1):
            try:
                completions.append(future.result())
            except PromptTooLongError as error:
                raise PromptTooLongError(error.tokens, error.limit, f"example {number}") from error
            on_answer()
    finally:
        for future in futures:
            future.cancel()
    return completions


def _request(example: Example, policy: ReusePolicy, options: DecodingOptions) -> Request:
    documents = [Affix(f"document {number}", text) for number, text in enumerate(example.docs, start=1)]
    return Request(rag_prompt(example.question, documents), options, policy=policy)


def _row(
    dataset: str,
    policy: str,
    examples: Sequence[Example],
    completions: Sequence[Completion],
    full: Sequence[str],
) -> Row:
    scored = [(c.text, e.answer) for c, e in zip(completions, examples, strict=True)]
    reports = [completion.reuse for completion in completions]
    return Row(
        dataset=dataset,
        policy=policy,
        n=len(examples),
        em=fmean(exact_match(*pair) for pair in scored),
        f1=fmean(f1(*pair) for pair in scored),
        agreement=fmean(c.text == f for c, f in zip(completions, full, strict=True)) if full else None,
        reused=sum(r.reused for r in reports) / sum(r.prompt_tokens for r in reports),
        forwards=fmean(completion.forwards for completion in completions),
    )
