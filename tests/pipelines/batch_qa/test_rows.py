"""Lines become questions; whatever is wrong with one becomes a failure that names it."""

from __future__ import annotations

import json

import pytest

from ragcache.errors import PromptTooLongError
from ragcache.pipelines.batch_qa import Failure, Library, Question, read_questions
from ragcache.pipelines.rag.documents import Document

LIBRARY = Library([Document("kettle.md", "The kettle is blue."), Document("lamp.md", "The lamp is red.")])
SIMPLE = {"custom_id": "a", "question": "Which colour?", "docs": ["kettle.md"]}
MESSAGE = {"role": "user", "content": "Hello?"}
OPENAI = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [MESSAGE]}}


def read(*lines: object, form: str = "simple") -> list[Question | Failure]:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return list(read_questions(raw, "in.jsonl", LIBRARY, form))  # type: ignore[arg-type]


def question(line: object, form: str = "simple") -> Question:
    [found] = read(line, form=form)
    assert isinstance(found, Question), found
    return found


def test_documents_are_named_or_given() -> None:
    found = question({**SIMPLE, "docs": ["lamp.md", {"id": "mine", "text": "A pot."}], "max_tokens": 9})
    assert (found.line, found.custom_id, found.max_tokens) == (1, "a", 9)
    assert found.affixes[1:] == ("The lamp is red.", "A pot.")


def test_an_own_system_prompt_takes_the_place_of_the_usual_one() -> None:
    assert question({**SIMPLE, "system": "Answer in Dutch."}).affixes[0] == "Answer in Dutch."


def test_blank_lines_a_bom_and_crlf_are_no_lines() -> None:
    found = read(b"\xef\xbb\xbf" + json.dumps(SIMPLE).encode() + b"\r\n", b"\r\n", b"  ")
    assert [one.line for one in found] == [1]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (b"{", "invalid_line", "line 1: not a JSON object"),
        (b"\xff\xfe", "invalid_line", "not a JSON object in UTF-8"),
        ([1], "invalid_line", "must be a JSON object"),
        ({**SIMPLE, "custom_id": 3}, "invalid_line", "'custom_id' must be a text"),
        ({"custom_id": "a"}, "invalid_line", "'question' is missing"),
        ({**SIMPLE, "question": "  "}, "empty_question", "empty"),
        ({**SIMPLE, "question": None}, "invalid_line", "'question' must be a text"),
        ({**SIMPLE, "extra": 1}, "invalid_line", "unknown field 'extra'"),
        ({**SIMPLE, "docs": ["pot.md"]}, "missing_document", "no document is called 'pot.md'"),
        ({**SIMPLE, "docs": "lamp.md"}, "invalid_line", "'docs' must be a list of names"),
        ({**SIMPLE, "docs": [{"id": "x", "text": ""}]}, "invalid_line", "document 'x'"),
        ({**SIMPLE, "docs": None}, "missing_document", "no documents to search"),
        ({**SIMPLE, "max_tokens": 0}, "invalid_line", "'max_tokens' must be a whole number"),
        ({**SIMPLE, "system": 5}, "invalid_line", "'system' must be a text"),
    ],
)
def test_a_bad_line_is_a_failure(line: object, code: str, message: str) -> None:
    [found] = read(line)
    assert isinstance(found, Failure)
    assert (found.code, found.line) == (code, 1)
    assert message in found.message


def test_a_second_line_with_an_id_names_both() -> None:
    first, second = read(SIMPLE, SIMPLE)
    assert isinstance(first, Question)
    assert isinstance(second, Failure)
    assert (second.code, second.custom_id) == ("duplicate_id", "a")
    assert "lines 1 and 2" in second.message


def test_an_id_is_taken_by_a_bad_line_too() -> None:
    """Else its row and the other's would be one, and going on would lose a line."""
    bad = {**SIMPLE, "docs": ["pot.md"]}
    for lines in ((bad, SIMPLE), (SIMPLE, bad), (bad, bad)):
        first, second = read(*lines)
        assert not (isinstance(first, Failure) and first.code == "duplicate_id")
        assert isinstance(second, Failure)
        assert second.code == "duplicate_id"
    assert [getattr(one, "code", None) for one in read(b"{", b"{", {"question": "x"})] == ["invalid_line"] * 3


def test_openai_lines_keep_their_messages_and_marks() -> None:
    blocks = [{"type": "text", "text": "A pot is black.", "id": "pot"}, {"type": "text", "text": " Why?"}]
    body = {"messages": [{"role": "user", "content": blocks}], "max_completion_tokens": 7, "model": "any"}
    found = question({**OPENAI, "body": body}, "openai")
    assert found.affixes == ("A pot is black.",)
    assert found.prompt.messages[0].text == "A pot is black. Why?"
    assert found.max_tokens == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"url": "/v1/embeddings"}, "only POST"),
        ({"body": []}, "'body' must be an object"),
        ({"body": {"messages": []}}, "'messages' must be a list that is not empty"),
        ({"body": {"messages": [MESSAGE], "n": 2}}, "unknown field 'n'"),
        ({"body": {"messages": [{"role": "user", "content": 3}]}}, "'messages'"),
        ({"body": {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}}, "content blocks"),
        ({"body": {"messages": [MESSAGE], "max_tokens": -1}}, "'max_tokens'"),
    ],
)
def test_what_openai_lines_ask_for_and_is_not_served_is_refused(change: object, message: str) -> None:
    assert isinstance(change, dict)
    [found] = read({**OPENAI, **change}, form="openai")
    assert isinstance(found, Failure)
    assert message in found.message


def test_errors_have_stable_codes() -> None:
    assert Failure.of(PromptTooLongError(9, 5), 3, "a").code == "prompt_too_long"
