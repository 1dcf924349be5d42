"""From a hub id to a folder, without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import GatedRepoError, RevisionNotFoundError

from ragcache.errors import UnknownModelError
from ragcache.model.catalog import NANO, HubModel, find_checkpoint, find_config, find_model

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of a machine that once downloaded org/name, and is offline now."""
    repository = tmp_path / "models--org--name"
    snapshot = repository / "snapshots" / SHA
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps({"model_type": "llada"}))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(SHA)
    (repository / "refs" / "v2").write_text(SHA)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return snapshot


def test_names_are_told_apart(tmp_path: Path) -> None:
    assert find_model("nano") == NANO
    assert find_model(str(tmp_path)) == tmp_path
    assert find_model("GSAI-ML/LLaDA-8B-Instruct") == HubModel("GSAI-ML/LLaDA-8B-Instruct")
    assert find_model("org/name@refs/pr/1") == HubModel("org/name", "refs/pr/1")
    with pytest.raises(UnknownModelError, match="unknown model 'org/name@'"):
        find_model("org/name@")


@pytest.mark.parametrize("model", ["org/name", "org/name@v2", f"org/name@{SHA}"])
def test_offline_the_cache_serves(hub_cache: Path, model: str) -> None:
    assert find_checkpoint(model) == hub_cache
    assert find_config(model) == hub_cache


@pytest.mark.parametrize("model", ["org/other", "org/name@v3"])
def test_offline_what_the_cache_lacks_is_said(hub_cache: Path, model: str) -> None:
    with pytest.raises(UnknownModelError, match="is not in the cache, and HF_HUB_OFFLINE forbids a download"):
        find_checkpoint(model)


def test_neither_code_nor_pickle_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, Any] = {}

    def download(name: str, **given: Any) -> str:
        asked.update(given, name=name)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert find_checkpoint("org/name@v1") == tmp_path
    assert (asked["name"], asked["revision"]) == ("org/name", "v1")
    assert not any(pattern.endswith((".py", ".bin", ".pt", "*")) for pattern in asked["allow_patterns"])
    find_config("org/name")
    assert asked["allow_patterns"] == ["config.json"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (GatedRepoError, "'org/name' is gated: accept its terms on the hub, then log in"),
        (RevisionNotFoundError, "'org/name' has no revision 'v9'"),
        (ConnectionError, r"nor to be had from the Hugging Face hub \(ConnectionError\)"),
    ],
)
def test_what_the_hub_refuses_is_said(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception], message: str
) -> None:
    def download(*given: Any, **named: Any) -> str:
        raise kind.__new__(kind)  # their constructors want a response

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)  # whatever the environment says
    with pytest.raises(UnknownModelError, match=message):
        find_checkpoint("org/name@v9")
