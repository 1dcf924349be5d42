"""`ragcache ask` that works, and that goes on when the store fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcache.errors import StoreFullError
from ragcache.registry import Registry

from .conftest import Run

pytestmark = pytest.mark.usefixtures("words")
QUESTION = "What does the Kavra kettle cost?"


@pytest.fixture
def arguments(model: Path, docs: Path, store: Path) -> list[object]:
    return [
        "ask",
        QUESTION,
        "--docs",
        docs,
        "--model",
        model,
        "--store",
        store,
        "--max-tokens",
        8,
        "--top-k",
        2,
    ]


def statuses(reuse: dict[str, list[dict[str, str]]]) -> set[str]:
    return {affix["status"] for affix in reuse["affixes"]}


def test_json_is_one_object_whose_counts_add_up(run: Run, arguments: list[object], model: Path) -> None:
    found = run(*arguments, "--json").json
    assert set(found) == {"answer", "sources", "citations", "reuse", "timings_s", "model", "policy"}
    assert found["sources"][0]["name"] == "kettle.md"
    assert len(found["sources"]) == 2
    reuse = found["reuse"]
    assert reuse["reused"] + reuse["recomputed"] + reuse["fresh"] == reuse["prompt_tokens"]
    assert sum(affix["anchors"] for affix in reuse["affixes"]) == reuse["recomputed"] > 0
    assert {affix["name"] for affix in reuse["affixes"]} >= {"ragcache/system", "kettle.md"}
    assert {"imports", "load_model", "retrieve", "full", "total"} <= set(found["timings_s"])
    assert found["timings_s"]["total"] >= found["timings_s"]["answer"] > 0
    assert (found["model"], found["policy"]) == (str(model), "qa@0.2")


def test_the_second_run_hits_and_answers_the_same(run: Run, arguments: list[object], store: Path) -> None:
    first, second = (run(*arguments, "--json").json for _ in range(2))
    assert (statuses(first["reuse"]), statuses(second["reuse"])) == ({"built"}, {"hit"})
    assert first["answer"] == second["answer"]
    assert [affix["anchors"] for affix in first["reuse"]["affixes"]] == [
        affix["anchors"] for affix in second["reuse"]["affixes"]
    ]


def test_people_see_sources_and_what_reuse_was_worth(run: Run, arguments: list[object]) -> None:
    built, hit = run(*arguments), run(*arguments)
    assert "kettle.md" in built.out
    assert "ragcache/system" in built.out
    assert "affixes took" in built.out
    assert "affixes took" not in hit.out
    assert "for a full recompute" in hit.out
    assert "for a full recompute" not in run(*arguments, "--no-compare").out


@pytest.mark.parametrize(
    ("options", "policy", "status"),
    [
        (["--budget", 0], "direct", "built"),
        (["--budget", 1], "full", "skipped"),
        (["--policy", "full"], "full", "skipped"),
    ],
    ids=str,
)
def test_budget_and_policy(
    run: Run, arguments: list[object], options: list[object], policy: str, status: str
) -> None:
    found = run(*arguments, *options, "--json").json
    assert found["policy"] == policy
    assert statuses(found["reuse"]) == {status}
    assert (found["reuse"]["recomputed"] == 0) == (policy == "direct")


def test_markup_in_names_is_shown_as_it_is(run: Run, arguments: list[object], docs: Path) -> None:
    (docs / "[red]kettle.md").write_text("What does the Kavra kettle cost? Ninety crowns.")
    assert "[red]kettle.md" in run(*arguments).out


def test_other_files_are_warned_of_on_stderr(run: Run, arguments: list[object], docs: Path) -> None:
    (docs / "image.png").write_bytes(b"x")
    result = run(*arguments, "--json")
    assert result.json["answer"] is not None
    assert result.err.startswith("warning: ")
    assert "image.png" in result.err


def test_a_store_that_cannot_take_pages_costs_a_warning_only(
    run: Run, arguments: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFullError("no room left")

    answer = run(*arguments, "--json").json["answer"]
    for page in Path(str(arguments[7])).glob("pages/*"):
        page.unlink()
    monkeypatch.setattr(Registry, "put", full)
    result = run(*arguments, "--json")
    assert result.code == 0
    assert result.json["answer"] == answer
    assert result.err.count("no room left") == 1
    assert {affix["reason"] for affix in result.json["reuse"]["affixes"]} == {"not stored: no room left"}


def test_damaged_pages_are_built_anew(run: Run, arguments: list[object], store: Path) -> None:
    first = run(*arguments, "--json").json
    for page in store.glob("pages/*"):
        data = bytearray(page.read_bytes())
        data[-1] ^= 1
        page.write_bytes(data)
    second = run(*arguments, "--json")
    assert second.json["answer"] == first["answer"]
    assert statuses(second.json["reuse"]) == {"built"}
    assert "damaged page" in second.err


def test_a_path_too_long_for_a_name_is_still_answered_from(
    run: Run, arguments: list[object], docs: Path
) -> None:
    deep = docs.joinpath(*["d" * 200] * 6)
    deep.mkdir(parents=True)
    (deep / "deep.md").write_text("The Kavra kettle costs forty crowns.")
    result = run(*arguments, "--top-k", 9, "--json")
    assert result.code == 0
    assert any(source["name"].endswith("deep.md") for source in result.json["sources"])


def test_a_codec_keeps_its_own_pages(run: Run, arguments: list[object]) -> None:
    found = [run(*arguments, "--codec", codec, "--json").json for codec in ("int8", "int8", "raw")]
    assert [statuses(f["reuse"]) for f in found] == [{"built"}, {"hit"}, {"built"}]
