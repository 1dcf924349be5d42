"""`ragcache tune`, and what `--policy auto` then stands for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ragcache.engine.loaded_model import load_fingerprint

from .conftest import Run

pytestmark = pytest.mark.usefixtures("words")
QUESTION = "What colour is the kettle?"


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "profiles"
    monkeypatch.setenv("RAGCACHE_PROFILES", str(folder))
    return folder


def write(path: Path, answer: str) -> Path:
    """The question three times, with what is expected."""
    path.write_text("\n".join(json.dumps({"question": QUESTION, "answer": answer}) for _ in range(3)))
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write(tmp_path / "questions.jsonl", "blue")


@pytest.fixture
def enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three questions will do."""
    monkeypatch.setattr("ragcache.evaluation.tune.FEWEST", 3)


def options(questions: Path, docs: Path, model: Path) -> tuple[object, ...]:
    return ("tune", "--questions", questions, "--docs", docs, "--model", model, "--top-k", 1)


@pytest.fixture
def answered(run: Run, docs: Path, model: Path, tmp_path: Path) -> Path:
    """Questions that expect what full recompute answers."""
    asked = ("ask", QUESTION, "--docs", docs, "--model", model, "--policy", "full", "--top-k", 1, "--json")
    return write(tmp_path / "answered.jsonl", run(*asked, "--store", tmp_path / "other").json["answer"])


@pytest.mark.usefixtures("enough")
def test_the_choice_is_kept_and_auto_uses_it(
    run: Run, docs: Path, model: Path, answered: Path, profiles: Path, tmp_path: Path
) -> None:
    found = run(*options(answered, docs, model), "--policy", "direct,acache@0.5", "--json").json
    by_policy = {c["policy"]: c for c in found["candidates"]}
    assert by_policy.keys() == {"full", "direct", "acache@0.5"}
    assert by_policy["full"]["em"] == 1.0
    assert found["chosen"] == next(c["policy"] for c in found["candidates"] if c["safe"])
    kept = json.loads(Path(found["profile"]).read_text())
    assert (kept["policy"], kept["questions"]) == (found["chosen"], 3)
    asked = ("ask", QUESTION, "--docs", docs, "--model", model, "--policy", "auto", "--json")
    assert run(*asked, "--store", tmp_path / "store").json["policy"] == found["chosen"]


def test_too_few_questions_keep_full_recompute_and_say_so(
    run: Run, docs: Path, model: Path, questions: Path, profiles: Path
) -> None:
    result = run(*options(questions, docs, model), "--policy", "direct")
    assert "3 questions are too few to call a policy safe; give 20 or more" in result.err
    assert "full recompute is kept" in result.out
    [kept] = profiles.glob("*/policy.json")
    assert json.loads(kept.read_text())["policy"] == "full"


@pytest.mark.usefixtures("enough", "profiles")
def test_where_full_recompute_is_never_right_nothing_is_safe(
    run: Run, docs: Path, model: Path, questions: Path
) -> None:
    result = run(*options(questions, docs, model), "--policy", "direct")
    assert "answers no question as expected" in result.err
    assert "full recompute is kept" in result.out


def test_auto_without_a_profile_says_what_it_uses(
    run: Run, docs: Path, model: Path, profiles: Path, tmp_path: Path
) -> None:
    asked = ("ask", QUESTION, "--docs", docs, "--model", model, "--policy", "auto", "--json")
    result = run(*asked, "--store", tmp_path / "store")
    assert "auto uses qa@0.2" in result.err
    assert result.json["policy"] == "qa@0.2"


def test_a_profile_of_another_model_is_refused(
    run: Run, docs: Path, model: Path, questions: Path, profiles: Path, tmp_path: Path
) -> None:
    run(*options(questions, docs, model), "--policy", "direct")
    _, fingerprint = load_fingerprint(str(model))
    path = profiles / fingerprint / "policy.json"
    path.write_text(path.read_text().replace(fingerprint, "0" * 32))
    asked = ("ask", QUESTION, "--docs", docs, "--model", model, "--policy", "auto")
    result = run(*asked, "--store", tmp_path / "store")
    assert result.code == 2
    assert "made for model 000000000000" in result.err


@pytest.mark.usefixtures("enough")
def test_people_see_candidates_and_the_choice(
    run: Run, docs: Path, model: Path, answered: Path, profiles: Path
) -> None:
    result = run(*options(answered, docs, model), "--policy", "direct,mass@1")
    assert result.err == ""
    assert sorted(line.split()[0] for line in result.out.splitlines()[:3]) == ["direct", "full", "policy"]
    assert "chosen: direct" in result.out or "no cheaper policy is safe" in result.out
    assert "profile: " in result.out


def test_a_page_that_cannot_be_drawn_costs_no_results(
    run: Run,
    docs: Path,
    model: Path,
    questions: Path,
    profiles: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    more = ("--policy", "direct", "--n", 1, "--json", "--html", tmp_path / "page.html")
    result = run(*options(questions, docs, model), *more)
    assert result.code == 2
    assert 'pip install "ragcache-dllm[report]"' in result.err
    assert result.json["chosen"] == "full"


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (("--policy", "magic"), "unknown policy 'magic'"),
        (("--tolerance", "3"), "lies outside 0..1"),
        (("--html", "."), "a folder; name a file"),
        (("--model", "no-such"), "unknown model"),
    ],
    ids=str,
)
def test_bad_options(
    run: Run, docs: Path, model: Path, questions: Path, profiles: Path, more: tuple[str, ...], part: str
) -> None:
    result = run(*options(questions, docs, model), *more)
    assert (result.code, result.out) == (2, "")
    assert part in result.err
    assert not profiles.exists()


def test_a_bad_line_is_named(run: Run, docs: Path, model: Path, questions: Path, profiles: Path) -> None:
    questions.write_text(questions.read_text() + '\n{"question": 3}')
    result = run(*options(questions, docs, model))
    assert result.code == 2
    assert "line 4" in result.err
