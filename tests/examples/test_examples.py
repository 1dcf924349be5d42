"""The examples stay short, need no network, and show what they promise."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from engine.tiny_checkpoint import write_checkpoint

from ragcache.prompt.rag import SYSTEM

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
FOLDER = EXAMPLES[0].parent
AGENTS, BATCH_JOB, FASTAPI_APP, LANGCHAIN_RAG, QUICKSTART, REAL_CHECKPOINT, STUFF_DOCUMENTS = (
    FOLDER / f"{name}.py"
    for name in (
        "agents",
        "batch_job",
        "fastapi_app",
        "langchain_rag",
        "quickstart",
        "real_checkpoint",
        "stuff_documents",
    )
)
MAX_LINES = 60
REUSE = re.compile(r"^  (hit|built|skipped) +\d+ tokens of (\S+)$", re.MULTILINE)

RunExample = Callable[..., str]


@pytest.fixture
def run_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> RunExample:
    """Runs an example's `main` offline, with a store and `arguments`; what it printed."""

    def no_network(*args: object) -> None:
        raise OSError("examples must not need a network")

    def run(path: Path, *arguments: str) -> str:
        monkeypatch.setattr(socket.socket, "connect", no_network)
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.main(tmp_path / "store", *arguments)
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_every_example_is_run_here() -> None:
    run_here = {AGENTS, BATCH_JOB, FASTAPI_APP, LANGCHAIN_RAG, QUICKSTART, REAL_CHECKPOINT, STUFF_DOCUMENTS}
    assert set(EXAMPLES) == run_here


def test_quickstart_builds_documents_then_reuses_them_in_another_order(run_example: RunExample) -> None:
    uses = REUSE.findall(run_example(QUICKSTART))
    first, second = uses[:4], uses[4:]
    assert [status for status, _ in uses] == ["built"] * 4 + ["hit"] * 4
    assert [name for _, name in first[1:]] == [name for _, name in reversed(second[1:])]


def test_the_chain_reuses_documents_retrieved_before(run_example: RunExample) -> None:
    uses = REUSE.findall(run_example(LANGCHAIN_RAG))
    assert [status for status, _ in uses[:4]] == ["built"] * 4
    seen = {name for _, name in uses[:4]}
    hits = {name for status, name in uses[4:] if status == "hit"}
    assert len(uses) == 8
    assert hits == seen & {name for _, name in uses[4:]} > {SYSTEM.name}


def test_stuffed_documents_are_reused(run_example: RunExample) -> None:
    uses = REUSE.findall(run_example(STUFF_DOCUMENTS))
    assert [status for status, _ in uses] == ["built"] * 3 + ["hit"] * 3


def test_agents_find_the_house_rules(run_example: RunExample) -> None:
    pytest.importorskip("langgraph")
    out = run_example(AGENTS)
    calls = re.findall(r"^  (\w+) +(\d+) of \d+ tokens reused, (\d+)% of the house rules$", out, re.MULTILINE)
    assert {name for name, _, _ in calls} == {"planner", "clerk", "accountant", "writer"}
    assert all(int(share) >= 95 for _, _, share in calls)


def test_a_batch_goes_on_where_it_stopped(run_example: RunExample) -> None:
    lines = run_example(BATCH_JOB).splitlines()
    assert lines[:2] == ["3 answered, 1 failed, 0 done before", "0 answered, 1 failed, 3 done before"]
    assert {line.split(":")[0].strip() for line in lines[2:]} == {"cost", "job", "warranty", "lost"}


def test_a_server_reads_from_the_store_the_second_time(run_example: RunExample) -> None:
    pytest.importorskip("fastapi")
    first, second = re.findall(r"'cache_read': (\d+)", run_example(FASTAPI_APP))
    assert int(second) > int(first) == 0


def test_another_checkpoint_is_another_name(run_example: RunExample, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    out = run_example(REAL_CHECKPOINT, str(write_checkpoint(folder, 2048)))
    assert [status for status, _ in REUSE.findall(out)] == ["built", "hit"]
    assert [line.split()[2] for line in out.splitlines() if "product-kavra-kettle.md:" in line] == [
        "missing",
        "hit",
    ]
