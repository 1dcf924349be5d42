"""An answer is cited where it stands literally, and nowhere else."""

from __future__ import annotations

import pytest

from ragcache.pipelines.rag.chunks import Chunk
from ragcache.pipelines.rag.citations import cite

TEXT = (
    "# Kavra kettle\n\nThe Kavra kettle was made in Velling Factory. It costs 40 crowns, it is said.\n"
    "It is blue."
)


def quotes(answer: str, *texts: str) -> list[tuple[str, str]]:
    chunks = [Chunk(f"{number}.md", text, f"{number}.md") for number, text in enumerate(texts)]
    return [(citation.name, citation.quote) for citation in cite(answer, chunks)]


@pytest.mark.parametrize(
    ("answer", "quote"),
    [
        ("40 crowns", "It costs 40 crowns, it is said."),
        ("velling  factory.", "The Kavra kettle was made in Velling Factory."),
        ("Blue", "It is blue."),
        ("Kavra kettle", "# Kavra kettle"),
    ],
)
def test_the_first_sentence_that_holds_it(answer: str, quote: str) -> None:
    assert quotes(answer, TEXT) == [("0.md", quote)]


@pytest.mark.parametrize(
    "answer", ["", "?", "0 crowns", "crown", "green", "yes", "not stated.", "40 (crowns"]
)
def test_what_no_text_says_is_not_cited(answer: str) -> None:
    assert quotes(answer, TEXT, "Yes, it is not stated.") == []


def test_every_source_that_says_it() -> None:
    found = quotes("40\ncrowns", TEXT, "Nothing here.", "Forty is written 40 crowns")
    assert [name for name, _ in found] == ["0.md", "2.md"]


def test_places_are_those_of_the_quote() -> None:
    [citation] = cite("Velling Factory", [Chunk("a.md", TEXT, "a.md")])
    assert TEXT[citation.start : citation.end] == citation.quote


def test_an_answer_over_a_break_is_quoted_whole() -> None:
    [(_, quote)] = quotes("made. In May", "It was made. In May it was sold.")
    assert quote == "It was made. In May it was sold."
