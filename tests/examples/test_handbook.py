"""The demo handbook must stay small, readable and answerable from its own text."""

import json
from pathlib import Path

import pytest

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
NOT_STATED = "not stated"
MAX_WORDS = 140


@pytest.fixture(scope="module")
def documents() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(HANDBOOK.rglob("*.md"))}


@pytest.fixture(scope="module")
def questions() -> list[dict[str, str]]:
    lines = (HANDBOOK / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_there_are_enough_documents(documents: dict[str, str]) -> None:
    assert len(documents) >= 24


def test_documents_are_short_and_not_empty(documents: dict[str, str]) -> None:
    lengths = {name: len(text.split()) for name, text in documents.items()}
    assert {name: words for name, words in lengths.items() if not 0 < words < MAX_WORDS} == {}


def test_every_document_starts_with_the_name_it_is_about(documents: dict[str, str]) -> None:
    # Prose below the heading must repeat the name: a chunk may lose its heading.
    for name, text in documents.items():
        heading, body = text.split("\n", 1)
        assert heading.startswith("# "), name
        assert heading[2:].lower() in body.lower(), name


def test_questions_have_exactly_a_question_and_an_answer(questions: list[dict[str, str]]) -> None:
    assert len(questions) >= 60
    for entry in questions:
        assert set(entry) == {"question", "answer"}
        assert entry["question"].endswith("?")
        assert 1 <= len(entry["answer"].split()) <= 6


def test_questions_are_unique(questions: list[dict[str, str]]) -> None:
    texts = [entry["question"].lower() for entry in questions]
    assert len(set(texts)) == len(texts)


def test_every_stated_answer_stands_in_a_document(
    documents: dict[str, str], questions: list[dict[str, str]]
) -> None:
    corpus = [text.lower() for text in documents.values()]
    answers = [entry["answer"].lower() for entry in questions if entry["answer"] != NOT_STATED]
    assert [answer for answer in answers if not any(answer in text for text in corpus)] == []


def test_some_questions_have_no_answer(questions: list[dict[str, str]]) -> None:
    assert sum(entry["answer"] == NOT_STATED for entry in questions) >= 8
