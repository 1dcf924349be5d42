"""The examples stay short, need no network, and show what they promise."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from ragcache.prompt.rag import SYSTEM

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
QUICKSTART, LANGCHAIN_RAG = (EXAMPLES[0].parent / name for name in ("quickstart.py", "langchain_rag.py"))
MAX_LINES = 60
REUSE = re.compile(r"^  (hit|built|skipped) +\d+ tokens of (\S+)$", re.MULTILINE)

RunExample = Callable[[Path], str]


@pytest.fixture
def run_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> RunExample:
    """Runs an example's `main` offline; what it printed."""

    def no_network(*args: object) -> None:
        raise OSError("examples must not need a network")

    def run(path: Path) -> str:
        monkeypatch.setattr(socket.socket, "connect", no_network)
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.main(tmp_path / "store")
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_every_example_is_run_here() -> None:
    assert set(EXAMPLES) == {QUICKSTART, LANGCHAIN_RAG}


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
