"""Where taught heads are to look, and the loss that teaches them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

import ragcache.model
from ragcache.evaluation.generators import QA, Story, Told
from training.dense import pointer_loss
from training.pointers import SOURCES, Pointers, Turn, to_tensors

NANO = Path(ragcache.model.__file__).parent / "nano" / "tokenizer.json"
DOCS = ("Ada Vell lives in Oslo. She leads the Falcon team.", "The Falcon team works from Bergen.")
MADE = Story(
    DOCS,
    (),
    (Told(0, "Ada Vell", "Oslo"), Told(0, "Ada Vell", "Falcon team"), Told(1, "Falcon team", "Bergen")),
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(NANO))


def turn_of(tokenizer: Tokenizer, text: str, start: int) -> Turn:
    return Turn(start, tokenizer.encode(text, add_special_tokens=False), text)


def read(tokenizer: Tokenizer, turn: Turn, positions: list[int]) -> str:
    return str(tokenizer.decode([turn.encoding.ids[p - turn.start] for p in positions])).strip()


def test_values_look_at_the_name_they_belong_to_within_their_document(tokenizer: Tokenizer) -> None:
    documents = turn_of(tokenizer, "\n" + "\n\n".join(DOCS), 7)
    pointers = Pointers()
    pointers.told(documents, MADE)
    pairs = {
        (read(tokenizer, documents, [row]), read(tokenizer, documents, sources))
        for row, sources in pointers.targets["subject"].items()
    }
    spoken = {name for _, name in pairs}
    assert spoken == {"Ada Vell", "Falcon team"}
    first_of_second = documents.tokens(documents.text.index(DOCS[1]), 1)[0]
    rows = [
        row for row, s in pointers.targets["subject"].items() if read(tokenizer, documents, s) != "Ada Vell"
    ]
    assert rows
    assert min(rows) > first_of_second


def test_an_answer_looks_at_its_source_its_subject_and_the_bridge(tokenizer: Tokenizer) -> None:
    documents = turn_of(tokenizer, "\n" + "\n\n".join(DOCS), 7)
    question = turn_of(tokenizer, "\nWhere does the team that Ada Vell leads work?", 100)
    qa = QA("", "Bergen", "two_hop", "Ada Vell", "Falcon team")
    answer = tokenizer.encode(" Bergen", add_special_tokens=False).ids
    canvas = range(200, 200 + len(answer))
    pointers = Pointers()
    pointers.asked(canvas, qa, question, documents, answer)
    found = {name: targets[200] for name, targets in pointers.targets.items()}
    assert read(tokenizer, question, found["subject"]) == "Ada Vell"
    assert read(tokenizer, documents, found["bridge"]) == "Falcon team Falcon team"
    where = [pointers.targets["answer"][row][0] for row in canvas]
    assert read(tokenizer, documents, where) == "Bergen"


def test_a_refusal_looks_at_the_start_and_an_answer_that_is_no_quotation_nowhere(
    tokenizer: Tokenizer,
) -> None:
    documents = turn_of(tokenizer, "\n" + DOCS[0], 7)
    pointers = Pointers()
    pointers.asked(range(50, 52), QA("", "not stated", "not_stated"), documents, documents, [1, 2])
    assert pointers.targets["answer"] == {50: [0], 51: [0]}
    other = Pointers()
    other.asked(range(50, 51), QA("", "yes", "yes_no"), documents, documents, [1])
    assert other.targets["answer"] == {}


def test_the_loss_is_the_mass_that_does_not_fall_on_the_sources() -> None:
    scores = torch.randn(2, 5, 5, generator=torch.Generator().manual_seed(1))
    rows, sources = to_tensors([3, 7], [[0, 2], [4]])
    assert rows.shape == (512,)
    assert sources.shape == (512, SOURCES)
    attention = torch.softmax(scores, dim=-1)
    wanted = -(torch.log(attention[0, 3, 0] + attention[0, 3, 2]) + torch.log(attention[1, 2, 4])) / 2
    torch.testing.assert_close(pointer_loss(scores, rows, sources), wanted)


def test_without_a_source_there_is_nothing_to_learn() -> None:
    rows, sources = to_tensors([], [])
    assert len(rows) == 0
    assert pointer_loss(torch.randn(1, 4, 4), rows, sources).item() == 0.0
