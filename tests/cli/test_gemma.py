"""Commands with a DiffusionGemma checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reference.gemma import CANVAS, write_gemma

from .conftest import TEXTS, Run

pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("words")


@pytest.fixture(scope="session")
def gemma(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the tokenizer of the other tests' model."""
    folder = write_gemma(tmp_path_factory.mktemp("gemma"), 300)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(model / name, folder)
    return folder


def test_models_show_and_check(run: Run, gemma: Path) -> None:
    found = run("models", "show", gemma, "--dtype", "bf16", "--max-tokens", 3, "--json").json
    assert found["kv_bytes_per_token"] == 2 * (2 * 2 * 2 * 8 + 2 * 16)
    assert found["memory"]["weights_bytes"] >= 2 * found["parameters"]  # routers stay fp32
    assert f"exact prefixes alone; bidirectional canvases of {CANVAS}" in found["attention"]
    assert "EntropyBound(bound=0.1)" in found["decoding"]
    assert run("models", "check", gemma, "--json").json["ok"] is True


def test_ask_reuses_what_stands_in_front(run: Run, gemma: Path, docs: Path, store: Path) -> None:
    asked = ("ask", "What does the Kavra kettle cost?", "--docs", docs, "--model", gemma, "--store", store)
    sizes = ("--max-tokens", 8, "--top-k", 2, "--json")
    first, second = (run(*asked, *sizes).json for _ in range(2))
    assert first["policy"] == "direct"
    assert first["answer"] == second["answer"]
    assert {use["status"] for use in second["reuse"]["affixes"]} == {"hit"}
    assert second["reuse"]["recomputed"] == 0
    assert second["reuse"]["reused"] > len(TEXTS["kettle.md"]) // 4
    full = run(*asked, *sizes, "--policy", "full").json
    assert full["answer"] == first["answer"]


@pytest.mark.parametrize("option", [("--policy", "depth=1"), ("--codec", "int8"), ("--decoding", "top_k=5")])
def test_what_it_cannot_do_is_one_line(run: Run, gemma: Path, docs: Path, option: tuple[str, str]) -> None:
    result = run("ask", "What does the kettle cost?", "--docs", docs, "--model", gemma, *option)
    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err
    assert "this model" in result.err or "DiffusionGemma" in result.err
