"""Starting: what a command imports, help, version, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ragcache import __version__

from .conftest import Run

HEAVY = ("torch", "transformers", "langchain_core", "faiss", "numpy", "rich")
UNWANTED = ("transformers", "langchain_core", "sentence_transformers", "torch._dynamo")


def run_and_list(arguments: list[str], modules: tuple[str, ...]) -> tuple[str, str]:
    """Output of a command in a process of its own, and which of `modules` it imported."""
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print([m for m in {modules!r} if m in sys.modules], file=sys.stderr))\n"
        "import runpy\n"
        f"sys.argv = ['ragcache', *{arguments!r}]\n"
        "runpy.run_module('ragcache', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", [[], ["ask"], ["affix"]], ids=" ".join)
def test_help_imports_nothing_heavy(command: list[str]) -> None:
    out, imported = run_and_list([*command, "--help"], HEAVY)
    assert "Usage:" in out
    assert imported == "[]"


def test_ask_imports_no_framework(model: Path, docs: Path, store: Path) -> None:
    options = ["--docs", str(docs), "--model", str(model), "--store", str(store), "--max-tokens", "4"]
    out, imported = run_and_list(
        ["ask", "What does the kettle cost?", *options],
        UNWANTED,
    )
    assert "kettle.md" in out
    assert imported == "[]"


def test_version(run: Run) -> None:
    assert run("--version").out == f"ragcache {__version__}\n"


def test_no_command_shows_help(run: Run) -> None:
    result = run()
    assert "Usage:" in result.out + result.err


def test_unknown_options_are_usage_errors(run: Run) -> None:
    result = run("ask", "x", "--dox", "y")
    assert result.code == 2
    assert "--dox" in result.err


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt, 130), (ZeroDivisionError, None)])
def test_interrupts_end_quietly_and_bugs_do_not(
    run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException], code: int | None
) -> None:
    def fail(paths: object) -> None:
        raise raised

    monkeypatch.setattr("ragcache.pipelines.rag.documents.load_documents", fail)
    if code is None:
        with pytest.raises(raised):
            run("ask", "x", "--docs", docs)
    else:
        result = run("ask", "x", "--docs", docs)
        assert (result.code, result.out, result.err) == (code, "", "")
