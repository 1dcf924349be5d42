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
        ({"top_k": 0}, "top_k must be at least 1, not 0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1"),
        ({"top_p": 1.5}, "top_p must be"),
        ({"min_tokens": -1}, "min_tokens must be 0 or more"),
    ],
)
def test_options_are_checked(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DecodingOptions(**wrong)


def shifted(tokens: int = 5, block: int = 3) -> Canvas:
    return Canvas([7, 8], tokens, block, MASK, shift=1)


def test_shifted_logits_are_read_from_the_row_before() -> None:
    steps, _ = drive(shifted(), DecodingOptions(5, 3, ONE_BY_ONE))
    read = [step.positions[step.sample].tolist() for step in steps]
    assert read[0] == [1, 2, 3]  # the refresh: for positions 2, 3, 4, of which it decides the first
    assert all(row in step.positions for step, rows in zip(steps, read, strict=True) for row in rows)
    assert read[1:3] == [[2, 3], [3]]


def test_a_shifted_refresh_decides_one_position_however_sure() -> None:
    canvas = shifted()
    steps, _ = drive(canvas, DecodingOptions(5, 3), sure)
    assert [step.kind for step in steps] == ["refresh", "refine"] * 2
    assert [len(step.sample) for step in steps] == [3, 2, 2, 1]
    assert canvas.answer() == [1, 2, 3, 4, 5]  # what the rows before say


def test_without_a_cache_a_shifted_forward_decides_all_it_is_sure_of() -> None:
    steps, _ = drive(shifted(), DecodingOptions(5, 3, cache="none"), sure)
    assert len(steps) == 2


def test_blocks_of_a_causal_canvas_lie_on_its_attentions_grid() -> None:
    canvas = Canvas(range(6), 9, 4, MASK, causal=True)
    assert list(canvas.blocks()) == [(6, 8), (8, 12), (12, 15)]
    assert list(Canvas(range(6), 9, 4, MASK).blocks()) == [(6, 10), (10, 14), (14, 15)]


def test_a_causal_refresh_computes_the_last_block_and_this_one() -> None:
    canvas = Canvas([7] * 6, 8, 4, MASK, causal=True)
    steps, _ = drive(canvas, DecodingOptions(8, 4), sure)
    assert rows_of(steps) == [[*range(8)], [*range(4, 12)], [*range(8, 14)]]
    everything, _ = drive(Canvas([7] * 6, 8, 4, MASK, causal=True), DecodingOptions(8, 4, cache="none"), sure)
    assert rows_of(everything) == [[*range(8)], [*range(12)], [*range(14)]]


def test_prompt_tokens_within_a_causal_block_are_refined_with_it() -> None:
    canvas = Canvas([7] * 6, 6, 4, MASK, causal=True)
    steps, _ = drive(canvas, DecodingOptions(6, 4, ONE_BY_ONE))
    assert rows_of(steps) == [[*range(8)], [4, 5, 6, 7], [*range(4, 12)], *[[8, 9, 10, 11]] * 3]


def test_ends_are_held_back_before_min_tokens() -> None:
    def flood(step: Step) -> Tensor:
        return torch.tensor([0.0, 3.0, 9.0, *[0.0] * 7]).repeat(len(step.sample), 1)

    canvas = Canvas([7], 6, 3, MASK)
    drive(canvas, DecodingOptions(6, 3, min_tokens=4), flood, ends=(2,))
    assert canvas.answer() == [1, 1, 1, 1, 2, 2]
    canvas = Canvas([7], 6, 3, MASK)
    _, decided = drive(canvas, DecodingOptions(6, 3), flood, ends=(2,), ended=lambda ids: 2 in ids)
    assert (canvas.answer(), decided) == ([2, 2, 2, MASK, MASK, MASK], 3)  # a flood stops after its block
