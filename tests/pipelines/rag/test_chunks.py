"""Chunks: nothing lost, limits kept, cut where a reader would cut."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcache.errors import ConfigError
from ragcache.pipelines.rag.chunks import chunk
from ragcache.pipelines.rag.documents import Document


def cut(text: str, max_chars: int, hard_max_chars: int | None = None) -> list[str]:
    chunks = chunk(Document("d.md", text), max_chars=max_chars, hard_max_chars=hard_max_chars)
    return [piece.text for piece in chunks]


PIECES = st.sampled_from(
    [
        "word ",
        "Dr. ",
        "3.5 ",
        "End. ",
        "What? ",
        "\n",
        "\n\n",
        "# Head\n",
        "- item\n",
        "```\n",
        "。",
        "x" * 30,
        "\t",
    ]
)


@given(st.lists(PIECES, max_size=60).map("".join), st.integers(1, 80), st.integers(0, 60))
def test_nothing_is_lost_and_limits_hold(text: str, max_chars: int, more: int) -> None:
    chunks = cut(text, max_chars, max_chars + more)
    assert "".join("".join(chunks).split()) == "".join(text.split())
    assert all(piece == piece.strip() != "" and len(piece) <= max_chars + more for piece in chunks)
    position = 0
    for piece in chunks:
        position = text.index(piece, position) + len(piece)


def test_a_short_document_keeps_its_name() -> None:
    (only,) = chunk(Document("d.md", "Short. Text.\n\nTwo paragraphs."))
    assert (only.name, only.text, only.document) == ("d.md", "Short. Text.\n\nTwo paragraphs.", "d.md")
    assert chunk(Document("d.md", " \n")) == ()


def test_several_chunks_are_numbered() -> None:
    chunks = chunk(Document("d.md", "First one.\n\nSecond one."), max_chars=12)
    assert [(piece.name, piece.document) for piece in chunks] == [("d.md#1", "d.md"), ("d.md#2", "d.md")]


def test_paragraphs_are_packed_and_not_cut() -> None:
    assert cut("aaa aaa\n\nbbb bbb\n\nccc ccc\n\nddd", 16) == ["aaa aaa\n\nbbb bbb", "ccc ccc\n\nddd"]


def test_a_heading_stays_with_what_follows() -> None:
    text = "Intro text that is long.\n\n# One\n\n## Sub\n\nBody one is here.\n# Two\nBody two."
    assert cut(text, 36) == [
        "Intro text that is long.",
        "# One\n\n## Sub\n\nBody one is here.",
        "# Two\nBody two.",
    ]


def test_small_sections_share_a_chunk() -> None:
    text = "# A\n\none\n\n# B\n\ntwo\n\n# C\n\n" + "long text " * 9
    assert cut(text, 100)[0] == "# A\n\none\n\n# B\n\ntwo"


def test_a_block_of_code_is_one_paragraph() -> None:
    code = "```python\nx = 1\n\n# no heading\ny = 2\n```"
    assert cut(f"Some text before it.\n\n{code}\n\nText after it is here.", 45) == [
        "Some text before it.",
        code,
        "Text after it is here.",
    ]


def test_an_edit_changes_the_chunks_of_its_own_section_only() -> None:
    sections = [
        f"# Section {n}\n\n" + "\n\n".join(f"Paragraph {m} of {n}. " + "word " * 12 for m in range(4))
        for n in range(6)
    ]
    before = cut("\n\n".join(sections), 200)
    sections[2] = sections[2].replace(
        "Paragraph 1 of 2.", "Paragraph 1 of 2, much longer than it was before now."
    )
    after = cut("\n\n".join(sections), 200)
    changed = [piece for piece in before if piece not in after]
    assert 1 <= len(changed) <= 2
    assert all("of 2" in piece for piece in changed)


@pytest.mark.parametrize(
    "sentence",
    [
        "We met Dr. Smith today.",
        "Use fruit, e.g. Apples, daily.",
        "It rose 3.5 percent.",
        "J. R. R. Tolkien wrote it.",
        "See Fig. 3 and No. 5 there.",
        "He paused ... then spoke.",
        "The U.S. Army came, i.e. Soldiers.",
        "“Is it so.” he asked.",
    ],
)
def test_dots_that_end_no_sentence(sentence: str) -> None:
    assert cut(f"{sentence} Next one here.", len(sentence)) == [sentence, "Next one here."]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("He said no. Then he left.", "He said no."),
        ("It grew by 3.5. Then it fell.", "It grew by 3.5."),
        ('She asked "Why?" Nobody knew it.', 'She asked "Why?"'),
        ("In 1999. Then came more.", "In 1999."),
        ("今日は晴れです。明日は雨です。", "今日は晴れです。"),
        ("- item one\n- item two\n- three", "- item one"),
        ("1. Item one\n2. Item two", "1. Item one"),
    ],
)
def test_ends_of_sentences(text: str, first: str) -> None:
    assert cut(text, len(first))[0] == first


def test_a_long_sentence_stays_whole_up_to_the_hard_limit() -> None:
    sentence = "One two three four five."
    assert cut(f"Hi. {sentence} Bye.", 10, 24) == ["Hi.", sentence, "Bye."]
    assert cut(f"Hi. {sentence} Bye.", 10, 23) == ["Hi.", "One two", "three four", "five. Bye."]
    assert cut("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


@pytest.mark.parametrize(("limit", "hard"), [(0, None), (-1, 5), (10, 9)])
def test_limits_are_checked(limit: int, hard: int | None) -> None:
    with pytest.raises(ConfigError, match="max_chars"):
        cut("text", limit, hard)


@pytest.mark.parametrize(
    "text",
    [
        "A sentence here. ",
        "word ",
        "x",
        "line\n",
        "para\n\n",
        "# H\n",
        "- a\n",
        "\u3002",
        ". ",
        ".",
        ".)",
        "!?",
    ],
)
def test_a_large_document_takes_linear_time(text: str) -> None:
    started = time.process_time()  # of this process alone: others may keep the machine busy
    cut(text * (300_000 // len(text)), 1200)
    assert time.process_time() - started < 5
