"""Answers of reuse policies to examples, each compared with full recompute."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Engine, Request
from ragcache.errors import PromptTooLongError
from ragcache.evaluation.answers import Answer, Key
from ragcache.evaluation.generators import Example
from ragcache.evaluation.metrics import exact_match, f1
from ragcache.evaluation.placement import placement_named
from ragcache.prompt import Affix
from ragcache.reuse.policy import ReusePolicy
from ragcache.threads import in_own_thread

FULL = "full"
CHUNK = 32  # examples whose logits are held at a time


@dataclass(frozen=True)
class Arm:
    """What is compared: a policy, and the codec of the pages it reuses."""

    policy: ReusePolicy
    codec: str = "raw"


@dataclass(frozen=True)
class Trial:
    """Examples of one data set, asked in every arm with their documents placed in one way."""

    dataset: str
    examples: Sequence[Example]
    policies: Sequence[ReusePolicy]
    placement: str = "prefix"
    options: DecodingOptions = field(default_factory=DecodingOptions)
    codecs: Sequence[str] = ("raw",)

    def arms(self) -> list[Arm]:
        """Every policy with every codec, or raw where it uses no page; `full`, if there, comes first."""
        ordered = sorted(self.policies, key=lambda policy: policy.name != FULL)
        return [Arm(p, codec) for p in ordered for codec in (self.codecs if p.reuses else ("raw",))]

    def key(self, arm: Arm, index: int) -> Key:
        """What names one answer in a journal."""
        return self.dataset, arm.policy.name, self.placement, arm.codec, index

    def all_keys(self) -> list[Key]:
        """Of all its answers."""
        return [self.key(arm, index) for arm in self.arms() for index in range(len(self.examples))]

    def request(self, index: int, arm: Arm) -> Request:
        """The request of example `index`."""
        example = self.examples[index]
        documents = [Affix(f"document {number}", text) for number, text in enumerate(example.docs, start=1)]
        prompt = placement_named(self.placement)(example.question, documents)
        return Request(prompt, self.options, policy=arm.policy, codec=arm.codec, keep_logits=True)


def evaluate(
    engine: Engine,
    trial: Trial,
    *,
    done: Collection[Key] = (),
    on_answer: Callable[[Answer], None] = lambda answer: None,
) -> list[Answer]:
    """The answers that are not `done` yet; `on_answer` receives each as soon as it is known.

    Where `full` is among the policies, others are compared with it. Raises `PromptTooLongError` naming the
    example, and the engine's errors.
    """
    answers: list[Answer] = []

    def keep(answer: Answer) -> None:
        answers.append(answer)
        on_answer(answer)

    arms = trial.arms()
    for start in range(0, len(trial.examples), CHUNK):
        chunk = range(start, min(start + CHUNK, len(trial.examples)))
        full: dict[int, Completion] = {}
        for arm in arms:
            missing = [i for i in chunk if trial.key(arm, i) not in done]
            needed, is_full = missing, arm.policy.name == FULL
            if is_full:  # computed again, not counted again, where others still need it
                needed = [i for i in chunk if any(trial.key(other, i) not in done for other in arms)]
            found = _complete(engine, trial, arm, needed)
            full = found if is_full else full
            for index in missing:
                keep(_answer(trial, index, arm, found[index], full.get(index)))
    return answers


def _complete(engine: Engine, trial: Trial, arm: Arm, indices: Sequence[int]) -> dict[int, Completion]:
    """One arm at a time, all at once into the queue: batches, and so times, are alike for all of them."""
    futures = {index: engine.submit(trial.request(index, arm), wait=True) for index in indices}
    completions = {}
    try:
        for index, future in futures.items():
            try:
                completions[index] = future.result()
            except PromptTooLongError as error:
                raise PromptTooLongError(error.tokens, error.limit, f"example {index + 1}") from error
    finally:
        for future in futures.values():
            future.cancel()
    return completions


def _answer(trial: Trial, index: int, arm: Arm, completion: Completion, full: Completion | None) -> Answer:
    example, timings = trial.examples[index], completion.timings
    return Answer(
        dataset=trial.dataset,
        policy=arm.policy.name,
        placement=trial.placement,
        codec=arm.codec,
        index=index,
        question=example.question,
        expected=example.answer,
        text=completion.text,
        token_ids=completion.token_ids,
        em=exact_match(completion.text, example.answer),
        f1=f1(completion.text, example.answer),
        agreement=None if full is None else agreement(completion.token_ids, full.token_ids),
        kl=None if full is None else _divergence(full, completion),
        live_rows=completion.live_rows,
        forwards=completion.forwards,
        rows_computed=round(completion.rows),
        probe_s=timings.probe_s,
        refresh_s=timings.refresh_s,
        total_s=timings.total_s,
        bytes_read=completion.bytes_read,
        group=example.group,
    )


def agreement(one: Sequence[int], other: Sequence[int]) -> float:
    """Share of positions with the same token, out of the longer answer; 1.0 when both are empty."""
    longest = max(len(one), len(other))
    return sum(a == b for a, b in zip(one, other, strict=False)) / longest if longest else 1.0


def _divergence(full: Completion, ours: Completion) -> float | None:
    """In a thread of its own: computed in this one, it would slow down the forwards that are timed."""
    return in_own_thread(lambda: divergence(full.first_logits, ours.first_logits))


def divergence(full: Tensor | None, ours: Tensor | None) -> float | None:
    """Mean KL divergence in nats of `ours` from `full`, both `[masks, vocabulary]` logits."""
    if full is None or ours is None:
        return None
    log_p, log_q = (torch.log_softmax(t.to(torch.float64), dim=-1) for t in (full, ours))
    return float((log_p.exp() * (log_p - log_q)).sum(dim=-1).mean())
