"""Batches: every line gets one row, the same one alone and among others."""

from __future__ import annotations

import json
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from engine.fixtures import *  # noqa: F403

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, LoadedModel, Request
from ragcache.errors import ConfigError
from ragcache.pipelines.batch_qa import Failure, Job, Library, Question, Results, Summary, read_questions
from ragcache.pipelines.batch_qa.job import in_order, preview
from ragcache.pipelines.rag.documents import Document
from ragcache.prompt import Prompt
from ragcache.registry import Registry

LIBRARY = Library([Document(f"{n}.md", f"The {n} stands in the hall.") for n in ("lamp", "pot")])
OPTIONS = DecodingOptions(max_tokens=8, block_length=8)


def questions(*names: str) -> list[Question | Failure]:
    lines = [
        {
            "custom_id": f"{n}-{name}",
            "question": f"Where is {n}?",
            "docs": [f"{name}.md"],
            "system": "Answer it.",
        }
        for n, name in enumerate(names)
    ]
    return list(read_questions([json.dumps(line).encode() for line in lines], "in", LIBRARY))


def run(engine: Engine, found: list[Question | Failure], path: Path, **options: Any) -> list[dict[str, Any]]:
    with Results(path, model="m", fingerprint="f", resume=True) as results:
        Job(engine, results, OPTIONS, **options).run(found)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_line_has_one_row_and_hits_after_the_first(engine: Engine, tmp_path: Path) -> None:
    found = questions("lamp", "pot", "lamp", "vase")
    rows = run(engine, found, tmp_path / "out.jsonl")
    assert sorted(row["custom_id"] for row in rows) == ["0-lamp", "1-pot", "2-lamp", "3-vase"]
    [failed] = [row for row in rows if row["error"]]
    assert (failed["error"]["code"], failed["error"]["line"], failed["answer"]) == (
        "missing_document",
        4,
        None,
    )
    answered = [row for row in rows if not row["error"]]
    for row in answered:
        reuse, usage = row["reuse"], row["usage"]
        assert reuse["reused"] + reuse["recomputed"] + reuse["fresh"] == usage["prompt_tokens"]
        assert reuse["reused"] > 0
    cached = {r["custom_id"]: r["usage"]["prompt_tokens_details"]["cached_tokens"] for r in answered}
    reused = {r["custom_id"]: r["reuse"]["reused"] for r in answered}
    assert (cached["0-lamp"], cached["2-lamp"]) == (0, reused["2-lamp"])  # what was built now is not cached


def test_answers_do_not_depend_on_their_peers(engine: Engine, tmp_path: Path) -> None:
    found = questions(*["lamp", "pot"] * 4)
    together = {r["custom_id"]: r["answer"] for r in run(engine, found, tmp_path / "a.jsonl")}
    alone = {
        r["custom_id"]: r["answer"]
        for n, one in enumerate(found)
        for r in run(engine, [one], tmp_path / f"{n}.jsonl", in_flight=1)
    }
    assert together == alone
    assert len(together) == 8


def test_going_on_asks_only_what_is_missing(engine: Engine, tmp_path: Path) -> None:
    found = questions("lamp", "pot", "lamp")
    run(engine, found[:2], tmp_path / "out.jsonl")
    with Results(tmp_path / "out.jsonl", model="m", fingerprint="f", resume=True) as results:
        summary = Job(engine, results, OPTIONS).run(found)
    assert (summary.ok, summary.skipped, summary.failed) == (1, 2, 0)


def test_an_interrupt_keeps_what_was_answered(engine: Engine, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    path = tmp_path / "out.jsonl"
    with Results(path, model="m", fingerprint="f") as results, pytest.raises(KeyboardInterrupt):
        Job(engine, results, OPTIONS, in_flight=2).run(questions("lamp", "pot", "lamp"), on_row=interrupt)
    assert len(path.read_text().splitlines()) == 1
    assert len(run(engine, questions("lamp", "pot", "lamp"), path)) == 3


def test_too_long_is_a_row_of_its_own(engine: Engine, tmp_path: Path) -> None:
    [short, long] = questions("lamp", "pot")
    assert isinstance(long, Question)
    lines = [json.dumps({"custom_id": "l", "question": "why? " * 400, "docs": []}).encode()]
    rows = run(engine, [short, *read_questions(lines, "in", LIBRARY)], tmp_path / "out.jsonl")
    assert {row["custom_id"]: bool(row["error"]) for row in rows} == {"0-lamp": False, "l": True}
    assert [r["error"]["code"] for r in rows if r["error"]] == ["prompt_too_long"]


def test_seconds_saved_are_by_rows_and_never_embellished() -> None:
    summary = Summary(rows=100.0, full_rows=300.0, row_s=0.05, encode_s=1.0, seconds=5.0)
    assert summary.saved_s == pytest.approx(200 * 0.05 - 1.0)
    assert Summary(rows=100.0, full_rows=110.0, row_s=0.05, encode_s=4.0, seconds=5.0).saved_s < 0
    assert Summary(failed=3, seconds=1.0).saved_s == 0.0


def test_where_documents_are_short_the_probe_costs_more_than_is_saved(engine: Engine, tmp_path: Path) -> None:
    with Results(tmp_path / "out.jsonl", model="m", fingerprint="f") as results:
        summary = Job(engine, results, OPTIONS).run(questions("lamp", "pot"))
    assert 0 < summary.full_rows < summary.rows
    assert summary.saved_s < 0
    assert 0 < summary.encode_s < summary.seconds


def test_questions_with_the_same_affixes_are_asked_together() -> None:
    found = [one for one in questions("lamp", "pot", "lamp", "pot") if isinstance(one, Question)]
    assert [one.custom_id for one in in_order(found)] == ["0-lamp", "2-lamp", "1-pot", "3-pot"]


def test_openai_rows(engine: Engine, tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Where is the lamp?"}], "max_tokens": 4}
    line = {"custom_id": "x", "method": "POST", "url": "/v1/chat/completions", "body": body}
    found = list(read_questions([json.dumps(line).encode(), b"{"], "in", LIBRARY, "openai"))
    ok, bad = sorted(
        run(engine, found, tmp_path / "o.jsonl", form="openai"), key=lambda r: r["response"] is None
    )
    assert ok["response"]["status_code"] == 200
    assert ok["response"]["body"]["choices"][0]["message"]["role"] == "assistant"
    assert ok["response"]["body"]["usage"]["completion_tokens"] <= 4
    assert (bad["custom_id"], bad["response"], bad["error"]["line"]) == (None, None, 2)


def test_a_preview_asks_nothing(engine: Engine) -> None:
    [one] = questions("lamp")
    assert isinstance(one, Question)
    before = preview(engine, one, OPTIONS)
    assert before["over"] == 0
    assert before["expected_hits"] < before["affixes"]
    engine.warm(list(one.affixes))
    assert preview(engine, one, OPTIONS)["expected_hits"] == before["affixes"]
    assert preview(engine, one, DecodingOptions(max_tokens=10_000))["over"] > 9_000


def test_a_preview_looks_where_the_answers_will(model: LoadedModel, store: Path) -> None:
    [one] = questions("lamp")
    assert isinstance(one, Question)
    with Registry(store) as registry, Engine(model, registry, namespace="tenant", codec="int8") as engine:
        engine.warm(list(one.affixes))
        found = preview(engine, one, OPTIONS)
        assert found["expected_hits"] == found["affixes"] > 0
    with Registry(store) as registry, Engine(model, registry, codec="int8") as engine:
        assert preview(engine, one, OPTIONS)["expected_hits"] == 0


def test_a_full_disk_ends_the_run(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Results(tmp_path / "out.jsonl", model="m", fingerprint="f") as results:

        def full(row: object) -> None:
            raise ConfigError("cannot be written")

        monkeypatch.setattr(results, "write", full)
        with pytest.raises(ConfigError, match="cannot be written"):
            Job(engine, results, OPTIONS).run(questions("lamp", "pot"))


def test_what_cannot_be_submitted_or_computed_is_a_row_of_its_own(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blank = {"messages": [{"role": "user", "content": " "}]}
    line = {"custom_id": "x", "method": "POST", "url": "/v1/chat/completions", "body": blank}
    found = list(read_questions([json.dumps(line).encode()], "in", LIBRARY, "openai"))
    [row] = run(engine, found, tmp_path / "a.jsonl")
    assert (row["custom_id"], row["error"]["code"]) == ("x", "empty_question")
    submit = engine.submit

    def fail_pots(request: Request, **options: Any) -> Any:
        assert isinstance(request.prompt, Prompt)
        if "pot" not in request.prompt.messages[-1].text:
            return submit(request, **options)
        failed: Future[Any] = Future()
        failed.set_exception(RuntimeError("out of memory"))
        return failed

    monkeypatch.setattr(engine, "submit", fail_pots)
    rows = {
        row["custom_id"]: row["error"] for row in run(engine, questions("lamp", "pot"), tmp_path / "b.jsonl")
    }
    assert rows["0-lamp"] is None
    assert (rows["1-pot"]["code"], rows["1-pot"]["message"]) == ("engine_error", "out of memory")
