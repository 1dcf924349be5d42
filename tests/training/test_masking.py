"""What is masked of a conversation, over many draws."""

from __future__ import annotations

import random
from dataclasses import replace

from training.masking import PADDING_WEIGHT, Masked, Masker, Sequence

EOT, EOS = 7, 0
# 1 2 3 [4 5 eot eos eos] 6 [8 eot]
SEQUENCE = Sequence([1, 2, 3, 4, 5, EOT, EOS, EOS, 6, 8, EOT], [(3, 8), (9, 11)], {})


def draws(everywhere: bool = False) -> list[list[Masked]]:
    masker = Masker(random.Random(1), EOT)
    return [masker.masked(SEQUENCE, everywhere=everywhere) for _ in range(300)]


def test_a_fully_masked_answer_has_its_number_and_padding_weighs_less() -> None:
    full = next(d for d in draws() if [m.index for m in d if m.index < 8] == [3, 4, 5, 6, 7])
    assert [m.answer for m in full if m.index < 8] == [0, 0, 0, None, None]
    assert [m.weight for m in full if m.index < 8] == [1.0, 1.0, 1.0, PADDING_WEIGHT, PADDING_WEIGHT]


def test_partly_masked_answers_have_no_number() -> None:
    for drawn in draws():
        for number, (start, stop) in enumerate(SEQUENCE.canvases):
            inside = [m for m in drawn if start <= m.index < stop]
            if len(inside) < stop - start:
                assert {m.answer for m in inside} <= {None}
            else:
                assert number in {m.answer for m in inside}


def test_tails_are_cut_within_the_answer() -> None:
    """A tail that starts in the padding would teach nothing about the answer."""
    tails = {tuple(m.index for m in drawn if m.index < 8) for drawn in draws()}
    assert {(4, 5, 6, 7), (5, 6, 7)} <= tails
    assert sum(tuple(m.index for m in d if m.index < 8) == (7,) for d in draws()) < 30


def test_other_tokens_are_masked_only_where_asked_and_never_the_first() -> None:
    assert all(m.index in SEQUENCE.answered for drawn in draws() for m in drawn)
    outside = {m.index for drawn in draws(everywhere=True) for m in drawn} - SEQUENCE.answered
    assert outside == {1, 2, 8}


def test_stale_tokens_are_affix_tokens_and_at_times_all_of_them() -> None:
    masker = Masker(random.Random(1), EOT)
    sequence = replace(SEQUENCE, affixes=[[1, 2], [8]])
    seen = {tuple(masker.stale(sequence)) for _ in range(300)}
    assert () in seen  # nothing reused
    assert (1, 2, 8) in seen  # no anchors
    assert {position for drawn in seen for position in drawn} == {1, 2, 8}
