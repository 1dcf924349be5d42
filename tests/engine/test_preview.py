"""What a request would reuse, told before it is asked."""

from __future__ import annotations

from dataclasses import replace

from engine.asks import RIVER, TOWN, ask_about, ask_with

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine


def test_sections_cover_the_prompt(engine: Engine) -> None:
    request = ask_about(RIVER, TOWN)
    preview = engine.preview(request)
    starts = [section.start for section in preview.sections]
    ends = [section.start + section.tokens for section in preview.sections]
    assert starts == [0, *ends[:-1]]
    assert preview.prompt_tokens == ends[-1] == engine.tokenize(request.prompt).tokens
    assert [section.name for section in preview.affixes("missing")] == ["doc0", "doc1"]
    assert RIVER.strip() in preview.sections[1].text


def test_it_tells_what_the_answer_then_reports(engine: Engine) -> None:
    assert engine.registry is not None
    request = ask_about(RIVER, TOWN)
    engine.warm([RIVER])
    before = engine.registry.stats()
    preview = engine.preview(request)
    assert engine.registry.stats() == before
    (completion,) = engine.generate([request])
    statuses = {"hit": "hit", "missing": "built"}
    expected = [(s.name, s.start, s.tokens, statuses[s.status]) for s in preview.affixes("hit", "missing")]
    assert [(u.name, u.start, u.tokens, u.status) for u in completion.reuse.affixes] == expected
    assert {status for *_, status in expected} == {"hit", "built"}


def test_what_will_not_be_reused_has_a_reason(engine: Engine) -> None:
    [short] = engine.preview(ask_about("Tiny.")).affixes("skipped")
    assert "shorter than" in short.reason
    [full] = engine.preview(ask_with("full", RIVER)).affixes("skipped")
    assert "recomputes everything" in full.reason


def test_pages_of_another_kind_are_not_there(engine: Engine) -> None:
    engine.warm([RIVER])
    assert engine.preview(ask_about(RIVER)).affixes("hit")
    assert engine.preview(ask_with("depth=1", RIVER)).affixes("missing")
    assert engine.preview(ask_about(RIVER, codec="int8")).affixes("missing")


def test_too_long_is_said_not_raised(engine: Engine) -> None:
    request = replace(ask_about(RIVER), options=DecodingOptions(max_tokens=500))
    preview = engine.preview(request)
    assert preview.over == preview.prompt_tokens + 500 - 256 > 0
    assert f"{preview.over} over its window of 256" in str(preview)


def test_as_text_it_has_a_line_for_every_section(engine: Engine) -> None:
    preview = engine.preview(ask_about(RIVER))
    head, *lines = str(preview).splitlines()
    assert "qa@0.2" in head
    assert len(lines) == len(preview.sections)
    assert "missing  doc0: The river is long" in str(preview)
