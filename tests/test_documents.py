"""What README and documents tell a newcomer: links lead somewhere, commands exist, the Python runs."""

from __future__ import annotations

import os
import re
import socket
from itertools import groupby
from pathlib import Path

import pytest
from typer.main import get_command

from ragcache.cli import app

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "ragcache/model/nano/MODEL_CARD.md"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
FIRST_ANSWER, MOST_LINES = 20, 10
LINK = re.compile(r"\]\((?!\w+:)([^)#]+)")
RULE = re.compile(r"\|(?: ?:?-+:? ?\|)+")
# `ragcache affix put\|list` and plain `ragcache ask ...`, wherever they stand
COMMAND = re.compile(r"ragcache ((?:[a-z-]+\\?\|?)+)(?: ((?:[a-z-]+\\?\|?)+))?")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    broken = [to for to in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / to).exists()]
    assert broken == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_tables_are_whole(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    tables = [list(rows) for is_row, rows in groupby(lines, lambda line: line.startswith("|")) if is_row]
    torn = [rows[0] for rows in tables if len(rows) < 3 or not RULE.fullmatch(rows[1])]
    assert torn == []
    width = re.compile(r"(?<!\\)\|")
    uneven = [
        row for rows in tables for row in rows if len(width.findall(row)) != len(width.findall(rows[1]))
    ]
    assert uneven == []


def test_the_first_answer_is_near_the_top() -> None:
    top = README.splitlines()[:FIRST_ANSWER]
    assert any(line.strip().startswith("make demo") for line in top)
    assert any(".venv/bin/ragcache ask" in line for line in top)


def test_every_command_is_there() -> None:
    known = get_command(app).commands  # type: ignore[attr-defined]
    told = {(match[1], match[2]) for match in COMMAND.finditer(README) if match[1] in known}
    assert {name for name, _ in told} == set(known)
    for name, more in told:
        if subcommands := getattr(known[name], "commands", None):
            assert set(re.split(r"\\?\|", more)) <= set(subcommands)


def test_every_make_target_is_there() -> None:
    rules = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    told = {
        target
        for path in DOCUMENTS
        for target in re.findall(r"(?:`|^    )make ([a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"demo", "test", "bench", "eval"} <= told <= set(rules)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_python_is_short(block: str) -> None:
    assert len([line for line in block.splitlines() if line.strip()]) <= MOST_LINES


def test_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One block after another, as a reader would: later ones use names of earlier ones."""

    def no_network(*args: object) -> None:
        raise OSError("the README's programs must not need a network")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    os.symlink(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
        assert capsys.readouterr().out.strip()
    assert (tmp_path / "store" / "version.json").exists()
