"""What was measured for a model: kept under its fingerprint, and used by `auto` and `depth`."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from engine.asks import RIVER, ask_with

from ragcache.engine import Engine, LoadedModel
from ragcache.engine.profiles import ModelProfile, Profiles, published_table
from ragcache.errors import ConfigError
from ragcache.reuse.depth import PUBLISHED, DepthTable
from ragcache.reuse.policy import Auto, ReusePolicy, parse_policy
from ragcache.reuse.profile_depth import DepthProfiler
from reference.tiny import random_ids

AUTO = ask_with("auto", RIVER)
VALUES = {"name": "mine", "layers": 3, "entries": [[0, 1], [50.5, 2]]}


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    return Profiles(tmp_path / "profiles")


def test_what_is_written_is_read_back(profiles: Profiles) -> None:
    path = profiles.write("abc", "depth", VALUES)
    assert profiles.depth_table("abc") == DepthTable("mine", 3, ((0.0, 1), (50.5, 2)))
    profiles.write("abc", "depth", {**VALUES, "entries": [[0, 3]]})
    assert profiles.depth_table("abc") == DepthTable("mine", 3, ((0.0, 3),))
    assert [file.name for file in path.parent.iterdir()] == ["depth.json"]
    assert profiles.depth_table("abd") is None


def test_a_measured_profile_is_read_back(profiles: Profiles, model: LoadedModel) -> None:
    texts = [random_ids(50, seed) for seed in (1, 2)]
    found = DepthProfiler(shares=(0.0, 50.0)).measure(model.predictor, texts, name="mine")
    profiles.write(model.fingerprint, "depth", found.values())
    assert profiles.depth_table(model.fingerprint) == found.table


def test_auto_without_a_profile_warns_and_is_safe(
    model: LoadedModel, profiles: Profiles, caplog: pytest.LogCaptureFixture
) -> None:
    with Engine(model, profiles=profiles) as engine, caplog.at_level(logging.WARNING, "ragcache"):
        auto, usual = engine.generate([AUTO])[0], engine.generate([replace(AUTO, policy=ReusePolicy())])[0]
    assert auto.policy == ReusePolicy().name == "qa@0.2"
    assert auto.token_ids == usual.token_ids
    assert [record.message for record in caplog.records] == [
        "no profile for this model yet: auto uses qa@0.2; measure with ragcache tune"
    ]


def test_auto_is_what_the_profile_says(
    model: LoadedModel, profiles: Profiles, caplog: pytest.LogCaptureFixture
) -> None:
    profiles.write(model.fingerprint, "policy", {"policy": "depth=1+acache@0.5"})
    with Engine(model, policy=Auto, profiles=profiles) as engine:
        assert engine.resolve_policy() == parse_policy("depth=1+acache@0.5")
        assert engine.resolve_policy(parse_policy("direct")).name == "direct"
        own, asked = engine.generate([replace(AUTO, policy=None), AUTO])
    assert own.policy == asked.policy == "depth=1+acache@0.5"
    assert own.reuse.recomputed == asked.reuse.recomputed > 0
    assert not caplog.records


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1, "model": "another"}', "made for model another"),
        ('{"format": 2, "model": "MODEL"}', "made for model"),
        ('{"format": 1, "model": "MODEL"}', "no usable policy"),
        ('{"format": 1, "model": "MODEL", "policy": "half"}', "no usable policy .*unknown policy 'half'"),
        ('{"format": 1, "model": "MODEL", "policy": "auto"}', "says 'auto' itself"),
        ('{"format": 1}', "not a profile"),
        ("[]", "not a profile"),
        ("{", "not a profile"),
        ("[" * 100_000, "not a profile"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_profile_that_cannot_be_used_fails_its_requests_alone(
    model: LoadedModel, profiles: Profiles, text: str, message: str
) -> None:
    path = profiles.path(model.fingerprint, "policy")
    path.parent.mkdir(parents=True)
    path.write_text(text.replace("MODEL", model.fingerprint), errors="surrogateescape")
    with Engine(model, profiles=profiles) as engine:
        with pytest.raises(ConfigError, match=message) as caught:
            engine.generate([AUTO])
        assert str(path) in str(caught.value)
        assert engine.generate([ask_with("direct", RIVER)])[0].policy == "direct"


@pytest.mark.parametrize(
    "values",
    [
        {},
        {**VALUES, "entries": [[0, 9]]},
        {**VALUES, "entries": [[0, 2], [50, 1]]},
        {**VALUES, "entries": 7},
        {**VALUES, "entries": [[0, float("inf")]]},
        {**VALUES, "entries": [["a", 1]]},
    ],
)
def test_a_depth_table_that_makes_no_sense(profiles: Profiles, values: dict[str, object]) -> None:
    profiles.write("abc", "depth", values)
    with pytest.raises(ConfigError, match="not a depth table"):
        profiles.depth_table("abc")


def test_a_table_of_another_model_is_refused(model: LoadedModel, profiles: Profiles) -> None:
    other = profiles.write("0123", "depth", VALUES)
    own = profiles.path(model.fingerprint, "depth")
    own.parent.mkdir()
    other.rename(own)
    with Engine(model, profiles=profiles) as engine, pytest.raises(ConfigError, match="made for model 0123"):
        engine.generate([ask_with("depth", RIVER)])


def test_a_table_of_another_depth_is_refused(model: LoadedModel, profiles: Profiles) -> None:
    profiles.write(model.fingerprint, "depth", {**VALUES, "layers": 5})
    with Engine(model, profiles=profiles) as engine, pytest.raises(ConfigError, match="for 5 layers"):
        engine.generate([ask_with("depth", RIVER)])


def test_the_folder_may_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGCACHE_PROFILES", str(tmp_path / "mine"))
    assert Profiles().folder == tmp_path / "mine"
    assert Profiles(tmp_path).folder == tmp_path
    monkeypatch.delenv("RAGCACHE_PROFILES")
    assert Profiles().folder.name == "profiles"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="set RAGCACHE_PROFILES to a folder of yours"):
        Profiles(tmp_path / "file").write("abc", "policy", {"policy": "full"})


def test_a_file_says_whose_it_is(profiles: Profiles) -> None:
    path = profiles.write("abc", "policy", {"policy": "full"})
    assert json.loads(path.read_text()) == {"format": 1, "model": "abc", "policy": "full"}


def test_published_tables_are_found_by_shape(model: LoadedModel) -> None:
    config = model.predictor.config
    assert published_table(config) is None
    sizes = replace(config, layers=32, hidden_size=4096, embedding_rows=126464)
    assert published_table(sizes) == PUBLISHED["LLaDA-8B-Instruct"]


def test_weights_are_only_hashed_for_what_a_profile_holds(model: LoadedModel, profiles: Profiles) -> None:
    def never() -> str:
        raise AssertionError("no profile is needed")

    profile = ModelProfile(model.predictor.config, never, profiles)
    for text in ("acache@0.2", "depth=2", "full"):
        assert profile.resolve(parse_policy(text)) == parse_policy(text)
    assert profile.table(parse_policy("depth=2")) is not None
    assert profile.table(parse_policy("direct")) is None
