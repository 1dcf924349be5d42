"""From a traced completion to what is drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcache.engine import Timings
from ragcache.engine.trace import StepTrace, Trace
from ragcache.pipelines.explain.figures import compare
from ragcache.pipelines.explain.marks import LEVELS
from ragcache.pipelines.explain.pieces import cut
from ragcache.pipelines.explain.view import Explanation, explain

from .samples import END, NASTY, START, Bytes, encode, sample, view


@pytest.mark.parametrize(
    "text", ["plain", "é", "🍵🍵", "a\n\nb", "a \ufffd b", "\ufffd", "e\u0301 שלום ✓", "\x00\u202e", ""]
)
def test_pieces_are_whole_characters_and_cover_all_tokens(text: str) -> None:
    pieces = cut(encode(text), Bytes(), start=5)
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.text for piece in pieces] == list(text)
    assert [at for p in pieces for at in range(p.start, p.stop)] == list(range(5, 5 + len(encode(text))))


@pytest.mark.parametrize("broken", [b"\xc3", b"\xc3a", b"a\xf0\x9f\x8d", b"\xff\xfeb", b"\xc3\xc3\xa9"])
def test_bytes_that_are_no_text_lose_nothing(broken: bytes) -> None:
    pieces = cut(list(broken), Bytes())
    assert "".join(piece.text for piece in pieces) == broken.decode(errors="replace")
    assert [at for p in pieces for at in range(p.start, p.stop)] == list(range(len(broken)))


def test_special_tokens_are_pieces_of_their_own() -> None:
    pieces = cut([START, END, END, *encode("<|end|>")], Bytes())
    assert [piece.text for piece in pieces if piece.special] == ["<|start|>", "<|end|>", "<|end|>"]
    assert "".join(piece.text for piece in pieces if not piece.special) == "<|end|>"


def test_sections_cover_the_prompt_and_frame_the_affixes() -> None:
    seen = view()
    at = 0
    for section in seen.sections:
        assert section.pieces[0].piece.start == at
        at += section.tokens
    assert at == seen.reuse.prompt_tokens
    framed = [section for section in seen.sections if section.affix]
    assert [section.affix for section in framed] == list(seen.affixes)
    assert "".join(part.piece.text for part in framed[2].pieces) == NASTY
    assert [section.blank for section in seen.sections] == [False, False, False, False, True, False, False]


def test_affixes_that_overlap_or_lie_nowhere_do_not_repeat_text() -> None:
    completion, trace = sample()
    first, second, third = completion.reuse.affixes
    shifted = replace(third, start=second.start + 2)
    lost = replace(third, name="lost", start=0, tokens=0)
    report = replace(completion.reuse, affixes=(lost, first, second, shifted))
    seen = explain(replace(completion, reuse=report), trace, Bytes())
    assert sum(section.tokens for section in seen.sections) == trace.prompt_tokens
    assert len([section for section in seen.sections if section.affix]) == 3


def test_every_anchor_lies_in_one_mark() -> None:
    _, trace = sample()
    marks = view().marks
    assert [position for mark in marks for position in mark.positions] == list(trace.anchors)
    assert [mark.text for mark in marks] == ["c", "é", "à", "\n", "\n", "🍵"]
    assert [mark.number for mark in marks] == list(range(1, len(marks) + 1))


def test_ranks_levels_and_shares_follow_the_scores() -> None:
    seen, (_, trace) = view(), sample()
    marks = sorted(seen.marks, key=lambda mark: mark.rank or 0)
    assert [mark.rank for mark in marks] == list(range(1, len(marks) + 1))
    assert [mark.score for mark in marks] == sorted((mark.score or 0 for mark in marks), reverse=True)
    assert (marks[0].level, marks[-1].level) == (LEVELS, 1)
    assert marks[0].share == pytest.approx(9.0 / sum(trace.scores.values()))
    assert {mark.number for mark in marks} == set(range(1, len(marks) + 1))
    assert {seen.affix_of(mark) for mark in marks} == {"café.md"}


def test_scores_of_any_sign_and_of_one_size() -> None:
    completion, trace = sample()
    negative = explain(completion, replace(trace, scores=dict.fromkeys(trace.scores, -1.0)), Bytes())
    assert {(mark.rank, mark.share, mark.level) for mark in negative.marks} == {(1, None, LEVELS)}
    assert all(0 <= bar.height <= 1 for bar in negative.bars)


def test_without_scores_anchors_are_marked_all_the_same() -> None:
    seen = view(scored=False)
    assert len(seen.marks) > 0
    assert {(mark.rank, mark.score, mark.share) for mark in seen.marks} == {(None, None, None)}
    assert {bar.height for bar in seen.bars} == {0.0, 1.0}


def test_bars_show_each_anchor_and_the_prompts_length() -> None:
    seen = view()
    assert len(seen.bars) == 160 < seen.reuse.prompt_tokens
    assert max(bar.height for bar in seen.bars) == 1.0
    assert sum(bar.level > 0 for bar in seen.bars) in range(4, len(seen.marks) + 2)


def test_the_summary_counts() -> None:
    completion, _ = sample()
    prompt, reused, fresh = (getattr(completion.reuse, n) for n in ("prompt_tokens", "reused", "fresh"))
    line = f"{prompt} prompt tokens: {reused} reused, 7 recomputed as anchors, {fresh} fresh"
    assert view().summary == line


def test_what_a_policy_recomputes_throughout_is_no_anchor() -> None:
    completion, trace = sample()
    seen = explain(completion, replace(trace, anchors=(), scores={}), Bytes())
    assert seen.marks == ()
    assert "7 recomputed, " in seen.summary


def texts(seen: Explanation, state: str) -> list[str]:
    """Per step, the text of its cells in `state`."""
    return ["".join(c.text for c in step.cells if c.state == state) for step in seen.steps]


def test_the_answer_fills_up_block_by_block() -> None:
    seen = view("À 6 h.")  # 7 bytes and two end tokens; the first refresh leaves a byte of À masked
    assert [step.kind for step in seen.steps] == ["probe", "refresh", "refine", "refresh", "refine"]
    assert texts(seen, "new") == ["", " 6", "À", "h.<|end|>", " "]
    assert texts(seen, "old") == ["", "", " 6", "", "h.<|end|>"]
    assert [sum(c.tokens for c in step.cells if c.state == "mask") for step in seen.steps] == [0, 2, 0, 1, 0]
    assert [step.committed for step in seen.steps] == [0, 3, 1, 4, 1]


def test_tokens_behind_the_answers_end_are_told_apart() -> None:
    end = [cell for cell in view().steps[-1].cells if cell.beyond]
    assert [(cell.text, cell.tokens, cell.special) for cell in end] == [("<|end|>", 2, True)]


def test_steps_share_the_time_line() -> None:
    completion, trace = sample()
    late = tuple(replace(step, started_s=step.started_s + 7) for step in trace.steps)
    seen = explain(completion, replace(trace, steps=late), Bytes())
    assert seen.steps[0].begins == 0.0
    assert seen.steps[-1].begins + seen.steps[-1].lasts == pytest.approx(1.0)
    assert all(step.lasts > 0 for step in seen.steps)


def test_the_forward_that_only_compares_is_no_step() -> None:
    completion, trace = sample()
    compared = replace(trace, steps=(*trace.steps, StepTrace("full", 195, 5.0, 1.0)))
    assert explain(completion, compared, Bytes()).steps == explain(completion, trace, Bytes()).steps


def test_blocks_without_a_refresh_of_their_own_fill_up_together() -> None:
    completion, trace = sample()
    steps = [replace(s, kind="refine") if i == 3 else s for i, s in enumerate(trace.steps)]
    seen = explain(completion, replace(trace, steps=tuple(steps)), Bytes())
    assert texts(seen, "new") == ["", " 6", "À", "h.<|end|>", " "]
    assert texts(seen, "old")[3:] == ["À 6", "À 6h.<|end|>"]


def test_a_request_without_steps_or_prompt() -> None:
    completion, _ = sample("")
    report = replace(completion.reuse, affixes=(), prompt_tokens=0)
    seen = explain(replace(completion, reuse=report), Trace((), 0, (), {}, ()), Bytes())
    assert (seen.sections, seen.bars, seen.steps, seen.marks) == ((), (), (), ())


@pytest.mark.parametrize(
    ("full_s", "verdict"),
    [(0.03, "3.0 times as fast"), (0.01, "reuse was not faster here"), (0.0, "")],
)
def test_the_comparison_is_no_better_than_it_is(full_s: float, verdict: str) -> None:
    completion, _ = sample(full_s=full_s)
    assert compare(completion).verdict == verdict
    assert compare(completion).full_s == pytest.approx(2 * full_s)
    assert compare(replace(completion, timings=Timings(full_s=1.0))).verdict == ""
