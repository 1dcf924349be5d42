"""Answers written down and read back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ragcache.errors import InputError
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.jsonl import Record

ANSWER = Answer(
    dataset="single",
    policy="acache@0.2",
    placement="infix",
    index=3,
    question="Who?\nAnd why?",
    expected="Inés",
    text="",
    token_ids=(5, 0, 7),
    em=0.0,
    f1=0.5,
    agreement=0.25,
    kl=-1e-9,
    live_rows=0.3,
    forwards=9,
    rows_computed=400,
    probe_s=0.005,
    refresh_s=0.01,
    total_s=1.5,
    bytes_read=4096,
    group="story 1",
    codec="int8",
)


def read(values: dict[str, object]) -> Answer:
    return Answer.from_record(Record("run.jsonl, line 2", json.loads(json.dumps(values))))


@pytest.mark.parametrize("answer", [ANSWER, replace(ANSWER, agreement=None, kl=None, token_ids=(), group="")])
def test_what_is_written_is_read(answer: Answer) -> None:
    assert read(answer.to_json()) == answer


def test_the_key_tells_answers_apart() -> None:
    assert ANSWER.key == ("single", "acache@0.2", "infix", "int8", 3)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("dataset", "", "a text that is not empty"),
        ("policy", 3, "a text that is not empty"),
        ("text", None, "a text, not null"),
        ("index", -1, "a whole number from 0"),
        ("index", True, "a whole number from 0"),
        ("token_ids", [1, -2], "a list of token ids"),
        ("token_ids", [1.0], "a list of token ids"),
        ("token_ids", "12", "a list of token ids"),
        ("em", 1.01, "a number in 0..1"),
        ("f1", None, "a number"),
        ("agreement", float("nan"), "a number in 0..1"),
        ("kl", float("inf"), "a finite number"),
        ("live_rows", -0.1, "a number in 0..1"),
        ("forwards", 2.5, "a whole number"),
        ("rows_computed", "4", "a whole number"),
        ("probe_s", -0.5, "a number of seconds"),
        ("refresh_s", -1, "a number of seconds"),
        ("total_s", "1", "a number"),
        ("bytes_read", -1, "a whole number"),
        ("group", None, "a text"),
        ("codec", "", "a text that is not empty"),
    ],
)
def test_a_wrong_field_is_named(name: str, value: object, wanted: str) -> None:
    with pytest.raises(InputError, match=f"run.jsonl, line 2: field '{name}' must be {wanted}"):
        read({**ANSWER.to_json(), name: value})


def test_an_answer_of_an_older_journal_was_raw() -> None:
    values = ANSWER.to_json()
    del values["codec"]
    assert read(values) == replace(ANSWER, codec="raw")


def test_fields_missing_or_unknown_are_named() -> None:
    values = ANSWER.to_json()
    with pytest.raises(InputError, match="unknown field 'extra'"):
        read({**values, "extra": 1})
    del values["kl"]
    with pytest.raises(InputError, match="field 'kl' is missing"):
        read(values)
