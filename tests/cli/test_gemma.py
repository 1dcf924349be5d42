"""Commands with a DiffusionGemma checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ragcache.model.checkpoint import Checkpoint
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


@pytest.mark.parametrize(
    "command",
    [
        ("generate", "--cases", "{cases}"),
        ("generate", "--cases", "{cases}", "--policy", "full"),
        ("profile-depth", "--texts", "{docs}"),
        ("bench", "rag"),
    ],
    ids=" ".join,
)
def test_what_is_for_our_own_network_is_refused_before_weights_are_read(
    run: Run,
    gemma: Path,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    monkeypatch.setattr(Checkpoint, "_read", lambda *given: pytest.fail("weights were read"))
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"parts": [[false, [5, 6]]], "gen_length": 8, "block_length": 8, "threshold": 0.9}\n')
    result = run(*(word.format(cases=cases, docs=docs) for word in command), "--model", gemma)
    assert (result.code, result.out) == (2, "")
    [line] = result.err.splitlines()
    assert line.startswith(f"error: {gemma}: DiffusionGemma is not decoded by ragcache's own network")
    assert "ask it with ragcache ask" in line


def test_explain_draws_its_answer(run: Run, gemma: Path, docs: Path, store: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    asked = ("explain", "What does the kettle cost?", "--docs", docs, "--model", gemma, "--store", store)
    result = run(*asked, "--max-tokens", 8, "--top-k", 2, "--html", page)
    assert result.code == 0, result.err
    assert "Kavra kettle" in page.read_text()


def test_pages_move_to_another_store(run: Run, gemma: Path, store: Path, tmp_path: Path) -> None:
    text, bundle = TEXTS["kettle.md"] * 2, tmp_path / "bundle"
    there = ("--store", tmp_path / "second", "--model", gemma)
    run("affix", "put", "kettle", "--text", text, "--model", gemma, "--store", store)
    exported = run("registry", "export", "kettle", "--out", bundle, "--model", gemma, "--store", store)
    assert exported.code == 0, exported.err
    assert run("registry", "import", bundle, *there, "--json").json["pages"] == 1
    [row] = run("affix", "warm", "kettle", *there, "--json").json["affixes"]
    assert row["status"] == "hit"


def test_pages_mean_nothing_to_another_model(
    run: Run, gemma: Path, model: Path, store: Path, tmp_path: Path
) -> None:
    bundle, there = tmp_path / "bundle", ("--store", tmp_path / "second")
    run("affix", "put", "kettle", "--text", TEXTS["kettle.md"], "--model", gemma, "--store", store)
    run("registry", "export", "kettle", "--out", bundle, "--model", gemma, "--store", store)
    result = run("registry", "import", bundle, "--model", model, *there)
    assert (result.code, result.out) == (2, "")
    assert "was made for another model" in result.err
    assert "name the right model" in result.err
    assert run("affix", "list", *there, "--json").json["affixes"] == []
