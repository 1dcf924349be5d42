"""Headers of a checkpoint on the hub, without a network and without its weights."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    NotASafetensorsRepoError,
    OfflineModeIsEnabled,
    SafetensorsParsingError,
)

from ragcache.errors import CheckpointError, RagCacheError, UnknownModelError
from ragcache.model.catalog import HubModel
from ragcache.model.checkpoint import Checkpoint, save_model
from ragcache.model.remote_headers import remote_headers
from ragcache.model.weights import read_headers, weight_files
from reference.tiny import tiny_model


@dataclass(frozen=True)
class Tensor:
    """What the hub's client says of a tensor."""

    dtype: str
    shape: list[int]


@dataclass(frozen=True)
class Shard:
    tensors: dict[str, Tensor]


@dataclass(frozen=True)
class Repository:
    files_metadata: dict[str, Shard]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tiny_model(), tmp_path, shard_bytes=20_000)
    return tmp_path


def answer(folder: Path) -> Repository:
    """The headers of the shards in `folder`, as the hub's client gives them."""
    shards: dict[str, Shard] = {}
    for name, stored in read_headers(weight_files(folder)).items():
        shard = shards.setdefault(stored.file.name, Shard({}))
        shard.tensors[name] = Tensor(stored.dtype, list(stored.shape))
    return Repository(shards)


def serve(monkeypatch: pytest.MonkeyPatch, said: Callable[[], Repository]) -> list[Any]:
    """The hub answers with what is `said`; the list of what it was asked."""
    asked: list[Any] = []

    def metadata(name: str, *, revision: str | None) -> Repository:
        asked.append((name, revision))
        return said()

    monkeypatch.setattr(huggingface_hub, "get_safetensors_metadata", metadata)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)  # whatever the environment says
    return asked


def test_a_checkpoint_is_checked_without_its_weights(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    whole = Checkpoint.open(folder)
    repository = answer(folder)
    asked = serve(monkeypatch, lambda: repository)
    away = tmp_path / "away"
    away.mkdir()
    shutil.copy(folder / "config.json", away)
    checkpoint = Checkpoint.open(away, remote_headers(HubModel("org/name", "v2"), away))
    assert asked == [("org/name", "v2")]
    assert [file.name for file in checkpoint.files] == [file.name for file in whole.files]
    assert {n: (s.dtype, s.shape) for n, s in checkpoint.stored.items()} == {
        n: (s.dtype, s.shape) for n, s in whole.stored.items()
    }


def test_what_is_missing_or_twice_is_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    repository = answer(folder)
    first, *_, last = sorted(repository.files_metadata)
    name, tensor = repository.files_metadata[first].tensors.popitem()
    serve(monkeypatch, lambda: repository)
    with pytest.raises(CheckpointError, match=f"missing: {name}"):
        Checkpoint.open(folder, remote_headers(HubModel("org/name"), folder))
    for file in (first, last):
        repository.files_metadata[file].tensors[name] = tensor
    with pytest.raises(CheckpointError, match=f"{name} is in {first} too"):
        remote_headers(HubModel("org/name"), folder)


@pytest.mark.parametrize(
    ("trouble", "kind", "message"),
    [
        (
            NotASafetensorsRepoError,
            CheckpointError,
            "org/name: no safetensors weights; if there are others, convert",
        ),
        (SafetensorsParsingError, CheckpointError, "a damaged safetensors file"),
        (EntryNotFoundError, CheckpointError, "named by the index but missing"),
        (LocalEntryNotFoundError, UnknownModelError, r"hub \(LocalEntryNotFoundError\)"),
        (HfHubHTTPError, UnknownModelError, r"Hugging Face hub \(HfHubHTTPError\)"),
        (OfflineModeIsEnabled, UnknownModelError, r"check the name and the network"),
        (TimeoutError, UnknownModelError, r"hub \(TimeoutError\)"),
    ],
)
def test_trouble_is_typed(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    trouble: type[Exception],
    kind: type[RagCacheError],
    message: str,
) -> None:
    def refuse() -> Repository:
        raise trouble.__new__(trouble)  # their constructors want a response

    serve(monkeypatch, refuse)
    with pytest.raises(kind, match=message):
        remote_headers(HubModel("org/name"), tmp_path)
