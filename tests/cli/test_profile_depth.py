"""`ragcache profile-depth`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragcache.engine import load
from ragcache.engine.profiles import Profiles
from ragcache.errors import ConfigError

from .conftest import TEXTS, Run


@pytest.fixture(autouse=True)
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "profiles"
    monkeypatch.setenv("RAGCACHE_PROFILES", str(folder))
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder of texts long enough to measure with."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(f"{text} {name} " * 3)
    return folder


def test_the_profile_is_written_and_read_back(run: Run, texts: Path, model: Path) -> None:
    options = ("--model", model, "--texts", texts, "--samples", 2, "--threshold", 0.5)
    found = run("profile-depth", *options, "--json").json
    loaded = load(str(model), device="cpu")
    table = Profiles().depth_table(loaded.fingerprint)
    assert table is not None
    assert [list(entry) for entry in table.entries] == found["entries"]
    assert (table.layers, len(found["similarity"]), len(found["similarity"][0])) == (3, 11, 3)
    assert (found["threshold"], found["name"]) == (0.5, str(model.resolve()))
    kept = json.loads(Path(found["path"]).read_text())
    assert kept["similarity"] == found["similarity"]


def test_people_see_a_table(run: Run, texts: Path, model: Path, profiles: Path) -> None:
    result = run("profile-depth", "--model", model, "--texts", texts)
    assert (result.code, result.err) == (0, "")
    header, depths, first, *_, path = result.out.splitlines()
    assert header.split() == ["affix", "%", "0", *(str(r) for r in range(10, 100, 10)), "95"]
    assert depths.split()[0] == "depth"
    assert first.split() == ["layer", "0", *["1.000"] * 11]
    assert path.startswith("profile: ")
    assert str(profiles) in path


def test_a_profile_of_another_model_is_refused(run: Run, texts: Path, model: Path) -> None:
    path = Path(run("profile-depth", "--model", model, "--texts", texts, "--json").json["path"])
    other = path.parents[1] / "0123" / path.name
    other.parent.mkdir()
    path.rename(other)
    with pytest.raises(ConfigError, match="made for model"):
        Profiles().depth_table("0123")
    assert Profiles().depth_table(path.parent.name) is None


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--texts", "nowhere"), "nowhere: no such file"),
        (("--texts", "{texts}", "--threshold", "1.5"), "threshold 1.5 lies outside 0..1"),
        (("--texts", "{texts}", "--samples", "0"), "samples must be at least 1"),
        (("--texts", "{short}"), "texts too short"),
        (("--texts", "{texts}", "--model", "no-such-model"), "unknown model"),
    ],
)
def test_what_is_refused_leaves_no_profile(
    run: Run, texts: Path, model: Path, profiles: Path, tmp_path: Path, options: tuple[str, ...], part: str
) -> None:
    short = tmp_path / "short.md"
    short.write_text("A few.")
    given = [option.format(texts=texts, short=short) for option in options]
    result = run("profile-depth", "--model", model, *given)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1].startswith("error: ")
    assert part in result.err
    assert not profiles.exists()


def test_texts_are_needed(run: Run) -> None:
    result = run("profile-depth")
    assert result.code == 2
    assert "--texts" in result.err


def test_profiles_that_cannot_be_written(
    run: Run, texts: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("RAGCACHE_PROFILES", str(tmp_path / "file"))
    result = run("profile-depth", "--model", model, "--texts", texts)
    assert (result.code, result.out) == (2, "")
    assert "RAGCACHE_PROFILES" in result.err
