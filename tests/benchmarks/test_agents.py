"""The agents' benchmark runs, small, and says how it compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine.tiny_checkpoint import write_checkpoint

from benchmarks import agents
from benchmarks.batch import Workload
from ragcache.engine import load


def test_the_last_line_compares_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langgraph")
    model = load(str(write_checkpoint(tmp_path, 4096)), device="cpu")
    monkeypatch.setattr(agents, "load_model", lambda name: model)
    monkeypatch.setattr(agents, "Workload", lambda documents, questions: Workload(1, questions, 1))
    agents.main(questions=1, policies="direct")
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    full, direct = found["policies"]
    assert (full["policy"], full["speedup"], full["shared_hit_rate"]) == ("full", 1.0, 0.0)
    assert (direct["policy"], direct["shared_hit_rate"]) == ("direct", 1.0)
    assert direct["reused"] > 0.5
    assert found["missed"] == []
