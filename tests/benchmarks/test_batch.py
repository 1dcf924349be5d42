"""The batch benchmark's workload, and a small run of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine.tiny_checkpoint import write_checkpoint

from benchmarks import batch
from benchmarks.batch import Workload, main, target
from ragcache.engine import load
from ragcache.pipelines.batch_qa import Library, Question, read_questions


def test_every_question_names_four_documents_and_is_the_same_every_time() -> None:
    documents, lines = Workload().build()
    assert (len(documents), len(lines)) == (50, 200)
    assert Workload().build() == (documents, lines)
    found = [q for q in read_questions(lines, "in", Library(documents)) if isinstance(q, Question)]
    assert len(found) == 200
    assert all(len({json.loads(line)["docs"][n] for n in range(4)}) == 4 for line in lines)
    assert len({json.loads(line)["question"] for line in lines}) > 150
    assert all(len(document.text) >= 1100 for document in documents)


def test_the_last_line_compares_with_the_job_without_reuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(str(write_checkpoint(tmp_path, 2048)), device="cpu")
    monkeypatch.setattr(batch, "load_model", lambda name: model)
    monkeypatch.setattr(batch, "Workload", lambda documents, questions: Workload(documents, questions, 1))
    monkeypatch.setattr(batch, "NEIGHBOURS", (0,))
    main(questions=3, documents=2, policies="direct", max_tokens=4, block_length=4, steps=1)
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    full, direct = found["policies"]
    assert (full["policy"], full["speedup"], full["hit_rate"]) == ("full", 1.0, 0.0)
    assert direct["policy"] == "direct"
    assert direct["seconds"] > 0
    assert set(found["missed"]) <= {"direct: throughput of the job without reuse"}


def test_a_missed_target_is_said_of_nanos_size_only() -> None:
    slow, fast = ({"policy": "direct", "speedup": speedup} for speedup in (2.49, 2.5))
    assert [target(slow, "nano").met, target(fast, "nano").met, target(slow, "random").met] == [
        "no",
        "yes",
        "",
    ]
