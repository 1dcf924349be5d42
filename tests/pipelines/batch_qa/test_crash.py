"""A batch that is killed at random moments, and gone on with, ends with every row exactly once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from engine.fixtures import *  # noqa: F403

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.pipelines.batch_qa import Library, Question, read_questions
from ragcache.pipelines.rag.documents import load_documents

QUESTIONS, DOCUMENTS, KILLS = 200, 50, 3
THINGS = ("lamp", "pot", "kettle", "clock", "chair", "radio", "map", "rope", "bell", "key")
PLACES = ("hall", "attic", "garden", "cellar", "kitchen")
MAX_TOKENS = 4
POLL_S = 0.01

pytestmark = pytest.mark.slow


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(DOCUMENTS):
        thing, place = THINGS[number % len(THINGS)], PLACES[number // len(THINGS)]
        text = f"The {thing} number {number} is in the {place}."
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    source = tmp_path / "in.jsonl"
    rows = [
        {
            "custom_id": f"q{number}",
            "question": f"Where is {number}?",
            "docs": [f"{number % DOCUMENTS}.md"],
            "system": "Say it.",
        }
        for number in range(QUESTIONS)
    ]
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return source


def command(checkpoint: Path, docs: Path, lines: Path, out: Path, store: Path) -> list[str]:
    options = ["--model", checkpoint, "--store", store, "--device", "cpu", "--max-tokens", MAX_TOKENS]
    files = ["-i", lines, "-o", out, "--docs", docs, "--resume"]
    return [sys.executable, "-m", "ragcache", "batch", *map(str, (*files, *options))]


def rows_of(out: Path) -> int:
    return out.read_bytes().count(b"\n") if out.exists() else 0


def kill_after(arguments: list[str], out: Path, rows: int) -> None:
    """Kill the batch, without warning, as soon as its file holds `rows` rows."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while rows_of(out) < rows:
        try:
            process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            continue
        break
    process.kill()
    process.wait()


def test_killed_and_gone_on_with(
    checkpoint: Path, model: LoadedModel, docs: Path, lines: Path, tmp_path: Path, store: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    out, rng = tmp_path / "out.jsonl", random.Random(seed)
    arguments = command(checkpoint, docs, lines, out, store)
    for _ in range(KILLS):
        kill_after(arguments, out, rng.randrange(rows_of(out), QUESTIONS))
    assert subprocess.run(arguments, capture_output=True, check=False).returncode == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == QUESTIONS
    assert Counter(row["custom_id"] for row in rows) == {f"q{number}": 1 for number in range(QUESTIONS)}
    assert all(row["error"] is None for row in rows)
    assert {row["custom_id"]: row["answer"] for row in rows} == one_by_one(model, docs, lines)


def one_by_one(model: LoadedModel, docs: Path, lines: Path) -> dict[str, str]:
    """Every answer without a store and without peers."""
    library = Library(load_documents([docs]).documents)
    with lines.open("rb") as file, Engine(model, max_batch=1) as engine:
        found = [one for one in read_questions(file, "in", library) if isinstance(one, Question)]
        options = DecodingOptions(MAX_TOKENS)
        return {one.custom_id: engine.submit(Request(one.prompt, options)).result().text for one in found}
