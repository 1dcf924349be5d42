"""The block loop, driven by hand: which rows it asks for, how often, and what it does with the logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from ragcache.decoding.caches import Live
from ragcache.decoding.canvas import Canvas
from ragcache.decoding.commit import ConfidenceThreshold, FixedSteps
from ragcache.decoding.denoise import DecodingOptions, denoise
from ragcache.decoding.step import Step
from ragcache.errors import ConfigError
from ragcache.model.attention import RequestKV

MASK, VOCABULARY = 9, 10
ONE_BY_ONE = ConfidenceThreshold(1.0)


def sure(step: Step) -> Tensor:
    """Certain of token `position % 7` everywhere."""
    tokens = step.positions[step.sample] % 7
    return 50.0 * torch.nn.functional.one_hot(tokens, VOCABULARY).float()


def unsure(step: Step) -> Tensor:
    return sure(step) / 50.0


def drive(
    canvas: Canvas,
    options: DecodingOptions,
    logits: Callable[[Step], Tensor] = unsure,
    live: Tensor | None = None,
    **more: Any,
) -> tuple[list[Step], int]:
    """All steps, and the number of positions decided."""
    kv = cast(RequestKV, object())  # never touched: nothing is forwarded here
    rows = Live(torch.arange(canvas.tokens) if live is None else live)
    work = denoise(canvas, lambda block: rows, kv, options, **more)
    steps = [next(work)]
    while True:
        try:
            steps.append(work.send(logits(steps[-1])))
        except StopIteration as end:
            return steps, end.value


def rows_of(steps: list[Step]) -> list[list[int]]:
    return [step.positions.tolist() for step in steps]


@pytest.mark.parametrize(
    ("mode", "first", "second"),
    [
        ("none", [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
        ("prefix", [2, 3, 4, 5], [4, 5]),
        ("dual", [2, 3], [4, 5]),
    ],
)
def test_rows_of_refresh_and_refine(mode: str, first: list[int], second: list[int]) -> None:
    options = DecodingOptions(4, 2, ONE_BY_ONE, mode)
    steps, decided = drive(Canvas([7, 8], 4, 2, MASK), options)
    everything = list(range(6))
    assert rows_of(steps) == [everything, first, everything, second]
    assert [step.kind for step in steps] == ["refresh", "refine", "refresh", "refine"]
    assert decided == 4


@pytest.mark.parametrize("mode", ["none", "prefix", "dual"])
def test_frozen_rows_are_never_computed(mode: str) -> None:
    live = torch.tensor([0, 3, 6, 7, 8, 9])
    canvas = Canvas(range(6), 4, 2, MASK)
    steps, _ = drive(canvas, DecodingOptions(4, 2, ONE_BY_ONE, mode), live=live)
    assert rows_of(steps)[0] == rows_of(steps)[2] == live.tolist()
    assert set().union(*rows_of(steps)) == set(live.tolist())
    assert canvas.answer() == [6, 0, 1, 2]  # position % 7


def test_samples_and_tokens_follow_the_commits() -> None:
    canvas = Canvas([7, 8], 3, 3, MASK)
    steps, _ = drive(canvas, DecodingOptions(3, 3, ONE_BY_ONE))
    sampled = [step.positions[step.sample].tolist() for step in steps]
    assert sampled == [[2, 3, 4], [3, 4], [4]]  # equal confidence: the lower position first
    assert [step.token_ids.tolist() for step in steps] == [[7, 8, 9, 9, 9], [2, 9, 9], [2, 3, 9]]
    assert canvas.answer() == [2, 3, 4]


def test_the_most_confident_position_is_committed_first() -> None:
    def last_is_best(step: Step) -> Tensor:
        return unsure(step) * torch.arange(1, len(step.sample) + 1)[:, None]

    steps, _ = drive(Canvas([7], 3, 3, MASK), DecodingOptions(3, 3, ONE_BY_ONE), last_is_best)
    assert [step.positions[step.sample].tolist() for step in steps] == [[1, 2, 3], [1, 2], [1]]


def test_a_block_complete_after_its_refresh_costs_one_forward() -> None:
    steps, _ = drive(Canvas([7, 8], 7, 3, MASK), DecodingOptions(7, 3), sure)
    assert [step.kind for step in steps] == ["refresh"] * 3


def test_fixed_steps_give_their_number_of_forwards() -> None:
    steps, _ = drive(Canvas([7], 8, 4, MASK), DecodingOptions(8, 4, FixedSteps(3)))
    assert [len(step.sample) for step in steps] == [4, 2, 1] * 2


def test_a_short_last_block() -> None:
    steps, decided = drive(Canvas([7], 5, 3, MASK), DecodingOptions(5, 3, FixedSteps(1)))
    assert [step.positions[step.sample].tolist() for step in steps] == [[1, 2, 3], [4, 5]]
    assert decided == 5


def test_tokens_already_there_are_kept_and_cost_nothing() -> None:
    canvas = Canvas([7], 4, 2, MASK)
    canvas.commit(torch.tensor([1, 2, 4]), torch.tensor([8, 8, 8]))
    steps, decided = drive(canvas, DecodingOptions(4, 2))
    assert [step.positions[step.sample].tolist() for step in steps] == [[3]]
    assert canvas.answer() == [8, 8, 3, 8]
    assert decided == 4


def test_ended_stops_after_a_block() -> None:
    seen: list[list[int]] = []

    def ended(answer: list[int]) -> bool:
        seen.append(answer)
        return 4 in answer

    canvas = Canvas([7, 8], 8, 2, MASK)
    steps, decided = drive(canvas, DecodingOptions(8, 2), sure, ended=ended)
    assert seen == [[2, 3], [2, 3, 4, 5]]
    assert (len(steps), decided) == (2, 4)
    assert canvas.answer() == [2, 3, 4, 5, MASK, MASK, MASK, MASK]


def test_seeds() -> None:
    def answer(seed: int) -> list[int]:
        canvas = Canvas([7], 12, 4, MASK)
        drive(canvas, DecodingOptions(12, 4, temperature=1.0, seed=seed))
        return canvas.answer()

    assert answer(1) == answer(1) != answer(2)
    assert MASK not in answer(1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"block_length": -2}, "block_length must be at least 1, not -2"),
        ({"cache": "triple"}, "unknown cache mode 'triple'; known: none, prefix, dual"),
        ({"temperature": -0.5}, "temperature must be 0 or more and finite, not -0.5"),
        ({"temperature": float("inf")}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"confidence": "best"}, "unknown confidence 'best'"),
        ({"seed": -1}, "seed must be from 0"),
        ({"seed": 2**63}, "seed must be from 0"),
    ],
)
def test_options_are_checked(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DecodingOptions(**wrong)
